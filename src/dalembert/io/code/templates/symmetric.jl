row(i) = i * (i - 1) ÷ 2

function symmetric_factor(lower)
    a, n = copy(lower), 0
    while row(n + 1) < length(a)
        n += 1
    end
    for i in 1:n
        for j in 2:i-1, k in 1:j-1
            a[row(i)+j] -= a[row(i)+k] * a[row(j)+k]
        end
        for j in 1:i-1
            scaled = a[row(i)+j] / a[row(j)+j]
            a[row(i)+i] -= a[row(i)+j] * scaled
            a[row(i)+j] = scaled
        end
    end
    return a
end

function symmetric_solve(a, b)
    x, n = copy(b), length(b)
    for i in 2:n, k in 1:i-1
        x[i] -= a[row(i)+k] * x[k]
    end
    for i in 1:n
        x[i] /= a[row(i)+i]
    end
    for i in n:-1:2, k in 1:i-1
        x[k] -= a[row(i)+k] * x[i]
    end
    return x
end
