/* Straight lines through points, level outside: the value for order 0, the slope for order 1, zero for higher ones. */
typedef struct {
    int order;
    int count;
    const double *times;
    const double *values;
} table;

static double interpolated(const table *held, double x)
{
    int after = 0;
    while (after < held->count && held->times[after] <= x) {
        after++;
    }
    if (after == 0 || after == held->count) {
        return held->order ? 0.0 : held->values[after ? after - 1 : 0];
    }
    const double start = held->times[after - 1], low = held->values[after - 1];
    const double slope = (held->values[after] - low) / (held->times[after] - start);
    return held->order == 0 ? low + slope * (x - start) : held->order == 1 ? slope : 0.0;
}
