static void general_factor(int n, double *a)
{
    double *r = a + n * n;
    for (int k = 0; k < n; k++) {
        double length = 0.0;
        for (int i = 0; i < n; i++) {
            length += a[n * i + k] * a[n * i + k];
        }
        r[n * k + k] = length;
        for (int j = k + 1; j < n; j++) {
            double share = 0.0;
            for (int i = 0; i < n; i++) {
                share += a[n * i + k] * a[n * i + j];
            }
            share /= length;
            for (int i = 0; i < n; i++) {
                a[n * i + j] -= share * a[n * i + k];
            }
            r[n * k + j] = share;
        }
    }
}

/* `x` has 2 n places: b comes in the first n, and so does the solution */
static void general_solve(int n, const double *a, double *x)
{
    const double *r = a + n * n;
    double *rest = x + n;
    for (int i = 0; i < n; i++) {
        rest[i] = x[i];
    }
    for (int k = 0; k < n; k++) {
        double share = 0.0;
        for (int i = 0; i < n; i++) {
            share += a[n * i + k] * rest[i];
        }
        x[k] = share / r[n * k + k];
        for (int i = 0; i < n; i++) {
            rest[i] -= x[k] * a[n * i + k];
        }
    }
    for (int k = n - 2; k >= 0; k--) {
        for (int j = k + 1; j < n; j++) {
            x[k] -= r[n * k + j] * x[j];
        }
    }
}
