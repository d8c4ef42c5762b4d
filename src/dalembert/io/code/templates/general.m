function a = general_factor(entries)
% orthogonal columns Q of a square matrix, given row by row, beside R with the squares of their lengths on its diagonal
n = round(sqrt(numel(entries)));
Q = reshape(entries, n, n)';
R = zeros(n, n);
for k = 1:n
    R(k, k) = Q(:, k)' * Q(:, k);
    for j = k+1:n
        R(k, j) = Q(:, k)' * Q(:, j) / R(k, k);
        Q(:, j) = Q(:, j) - R(k, j) * Q(:, k);
    end
end
a = [Q, R];
end

function x = general_solve(a, b)
% the solution of a system whose matrix is factored
n = numel(b);
x = b;
rest = b';
for k = 1:n
    x(k) = a(:, k)' * rest / a(k, n + k);
    rest = rest - x(k) * a(:, k);
end
for k = n-1:-1:1
    x(k) = x(k) - a(k, n+k+1:2*n) * x(k+1:n)';
end
end
