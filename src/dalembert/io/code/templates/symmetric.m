function a = symmetric_factor(a)
% L below the diagonal and D on it, of the entries on and below the diagonal of a symmetric matrix, row by row
n = round((sqrt(8 * numel(a) + 1) - 1) / 2);
for i = 1:n
    r = i * (i - 1) / 2;
    for j = 2:i-1
        s = j * (j - 1) / 2;
        a(r + j) = a(r + j) - a(r+1:r+j-1) * a(s+1:s+j-1)';
    end
    for j = 1:i-1
        scaled = a(r + j) / a(j * (j - 1) / 2 + j);
        a(r + i) = a(r + i) - a(r + j) * scaled;
        a(r + j) = scaled;
    end
end
end

function x = symmetric_solve(a, x)
% the solution of L D L' x = b
n = numel(x);
for i = 2:n
    r = i * (i - 1) / 2;
    x(i) = x(i) - a(r+1:r+i-1) * x(1:i-1)';
end
for i = 1:n
    x(i) = x(i) / a(i * (i - 1) / 2 + i);
end
for i = n:-1:2
    r = i * (i - 1) / 2;
    x(1:i-1) = x(1:i-1) - a(r+1:r+i-1) * x(i);
end
end
