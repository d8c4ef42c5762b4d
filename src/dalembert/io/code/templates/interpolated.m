function y = interpolated(held, x)
% straight lines through points, level outside: the value for order 0, the slope for order 1, zero for higher ones
k = sum(held.times <= x);
n = numel(held.times);
if k == 0 || k == n
    y = (held.order == 0) * held.values(max(k, 1));
    return
end
slope = (held.values(k + 1) - held.values(k)) / (held.times(k + 1) - held.times(k));
if held.order == 0
    y = held.values(k) + slope * (x - held.times(k));
else
    y = (held.order == 1) * slope;
end
end
