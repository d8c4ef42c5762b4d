static void symmetric_factor(int n, double *a)
{
    for (int i = 0; i < n; i++) {
        double *row = a + ROW(i);
        for (int j = 1; j < i; j++) {
            for (int k = 0; k < j; k++) {
                row[j] -= row[k] * a[ROW(j) + k];
            }
        }
        for (int j = 0; j < i; j++) {
            const double scaled = row[j] / a[ROW(j) + j];
            row[i] -= row[j] * scaled;
            row[j] = scaled;
        }
    }
}

static void symmetric_solve(int n, const double *a, double *x)
{
    for (int i = 1; i < n; i++) {
        for (int k = 0; k < i; k++) {
            x[i] -= a[ROW(i) + k] * x[k];
        }
    }
    for (int i = 0; i < n; i++) {
        x[i] /= a[ROW(i) + i];
    }
    for (int i = n - 1; i > 0; i--) {
        for (int k = 0; k < i; k++) {
            x[k] -= a[ROW(i) + k] * x[i];
        }
    }
}
