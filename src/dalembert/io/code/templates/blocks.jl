# Linear systems, without pivots that depend on values. A symmetric matrix is factored as L D L', from its entries on and below
# the diagonal, row by row; a general one into columns that are orthogonal and not normed, with R behind them.
