# straight lines through points, level outside: the value for order 0, the slope for order 1, zero for higher ones
function interpolated(held, x)
    order, times, values = held
    k = searchsortedlast(times, x)
    if k == 0 || k == length(times)
        return order > 0 ? zero(x) : values[max(k, 1)] + zero(x)
    end
    slope = (values[k+1] - values[k]) / (times[k+1] - times[k])
    return order == 0 ? values[k] + slope * (x - times[k]) : order == 1 ? slope + zero(x) : zero(x)
end
