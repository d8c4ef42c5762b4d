function x = choose(condition, x, otherwise_x)
% x where the condition holds, else the other one
if ~condition
    x = otherwise_x;
end
end
