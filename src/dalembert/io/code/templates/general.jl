function general_factor(entries)
    n = isqrt(length(entries))
    Q, R = permutedims(reshape(entries, n, n)), zeros(eltype(entries), n, n)
    for k in 1:n
        R[k, k] = sum(Q[:, k] .* Q[:, k])
        for j in k+1:n
            R[k, j] = sum(Q[:, k] .* Q[:, j]) / R[k, k]
            Q[:, j] -= R[k, j] * Q[:, k]
        end
    end
    return Q, R
end

function general_solve(factors, b)
    (Q, R), x, rest, n = factors, copy(b), copy(b), length(b)
    for k in 1:n
        x[k] = sum(Q[:, k] .* rest) / R[k, k]
        rest -= x[k] * Q[:, k]
    end
    for k in n-1:-1:1
        x[k] -= sum(R[k, k+1:n] .* x[k+1:n])
    end
    return x
end
