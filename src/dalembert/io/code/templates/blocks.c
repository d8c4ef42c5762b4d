/* Linear systems. A symmetric matrix is factored as L D L^T in place, from its entries on and below the diagonal, row by row.
 * A general one becomes columns that are orthogonal and not normed, in its own place, and behind them R with the squares
 * of their lengths on its diagonal. Neither needs pivots that depend on values. */

#define ROW(i) ((i) * ((i) + 1) / 2)
