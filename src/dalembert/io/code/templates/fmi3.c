/* The functions of FMI 3.0 for model exchange and co-simulation, around the equations of motion.
 *
 * Value references: 0 is time, then come the states, their derivatives, the parameters and the outputs. What is defined above
 * this text: TOKEN, N_STATES, N_PARAMETERS, N_OUTPUTS, the type `parameters`, the functions `rates` and `outputs`, and
 * `rates_along` and `outputs_along`, their derivatives along the rates of time, states and parameters. */

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(_WIN32)
#define FMI __declspec(dllexport)
#else
#define FMI __attribute__((visibility("default")))
#endif

typedef enum { OK, WARNING, DISCARD, ERROR, FATAL } status;
typedef uint32_t reference;

enum {
    STATES = 1,
    DERIVATIVES = STATES + N_STATES,
    PARAMETERS = DERIVATIVES + N_STATES,
    OUTPUTS = PARAMETERS + N_PARAMETERS,
    END = OUTPUTS + N_OUTPUTS
};

typedef struct {
    double t;
    double tolerance;
    double step; /* of co-simulation, the one that is tried next; 0 at the start */
    double y[N_STATES];
    parameters p;
} model;

static model initial_model(void)
{
    model m = {0.0, 1e-9, 0.0, {0.0}, DEFAULTS};
    for (int i = 0; i < N_STATES; i++) {
        m.y[i] = INITIAL[i];
    }
    return m;
}

FMI const char *fmi3GetVersion(void)
{
    return "3.0";
}

FMI status fmi3SetDebugLogging(void *instance, bool on, size_t n, const char *const *categories)
{
    (void)instance, (void)on, (void)n, (void)categories;
    return OK;
}

/* a new instance, or NULL where the description belongs to another model */
static void *instance_of(const char *token)
{
    model *m = strcmp(token, TOKEN) ? NULL : malloc(sizeof *m);
    if (m) {
        *m = initial_model();
    }
    return m;
}

FMI void *fmi3InstantiateModelExchange(const char *name, const char *token, const char *resources, bool visible, bool logging,
    void *environment, void (*log)(void))
{
    (void)name, (void)resources, (void)visible, (void)logging, (void)environment, (void)log;
    return instance_of(token);
}

FMI void *fmi3InstantiateCoSimulation(const char *name, const char *token, const char *resources, bool visible, bool logging,
    bool event_mode, bool early_return, const reference *intermediate, size_t n, void *environment, void (*log)(void),
    void (*update)(void))
{
    (void)name, (void)resources, (void)visible, (void)logging, (void)event_mode, (void)early_return, (void)intermediate;
    (void)n, (void)environment, (void)log, (void)update;
    return instance_of(token);
}

FMI void *fmi3InstantiateScheduledExecution(const char *name, const char *token, const char *resources, bool visible,
    bool logging, void *environment, void (*log)(void), void (*clock)(void), void (*lock)(void), void (*unlock)(void))
{
    (void)name, (void)token, (void)resources, (void)visible, (void)logging, (void)environment, (void)log, (void)clock;
    (void)lock, (void)unlock;
    return NULL;
}

FMI void fmi3FreeInstance(void *instance)
{
    free(instance);
}

FMI status fmi3EnterInitializationMode(void *instance, bool with_tolerance, double tolerance, double start, bool with_stop,
    double stop)
{
    model *m = instance;
    (void)with_stop, (void)stop;
    m->t = start;
    if (with_tolerance && tolerance > 0.0) {
        m->tolerance = tolerance;
    }
    return OK;
}

FMI status fmi3Reset(void *instance)
{
    *(model *)instance = initial_model();
    return OK;
}

/* modes in which nothing has to be done */
#define ALLOWED(name) \
    FMI status name(void *instance) \
    { \
        (void)instance; \
        return OK; \
    }
ALLOWED(fmi3ExitInitializationMode)
ALLOWED(fmi3EnterEventMode)
ALLOWED(fmi3EnterContinuousTimeMode)
ALLOWED(fmi3EnterStepMode)
ALLOWED(fmi3EnterConfigurationMode)
ALLOWED(fmi3ExitConfigurationMode)
ALLOWED(fmi3EvaluateDiscreteStates)
ALLOWED(fmi3Terminate)

/* values */

FMI status fmi3GetFloat64(void *instance, const reference *which, size_t n, double *values, size_t size)
{
    model *m = instance;
    double moved[N_STATES], found[N_OUTPUTS + 1];
    bool has_rates = false, has_outputs = false;
    (void)size;
    for (size_t i = 0; i < n; i++) {
        const reference k = which[i];
        if (k >= END) {
            return ERROR;
        } else if (k >= OUTPUTS) {
            if (!has_outputs) {
                outputs(m->t, m->y, &m->p, found);
                has_outputs = true;
            }
            values[i] = found[k - OUTPUTS];
        } else if (k >= PARAMETERS) {
            values[i] = ((const double *)&m->p)[k - PARAMETERS];
        } else if (k >= DERIVATIVES) {
            if (!has_rates) {
                rates(m->t, m->y, &m->p, moved);
                has_rates = true;
            }
            values[i] = moved[k - DERIVATIVES];
        } else {
            values[i] = k >= STATES ? m->y[k - STATES] : m->t;
        }
    }
    return OK;
}

FMI status fmi3SetFloat64(void *instance, const reference *which, size_t n, const double *values, size_t size)
{
    model *m = instance;
    (void)size;
    for (size_t i = 0; i < n; i++) {
        const reference k = which[i];
        if (k >= STATES && k < DERIVATIVES) {
            m->y[k - STATES] = values[i];
        } else if (k >= PARAMETERS && k < OUTPUTS) {
            ((double *)&m->p)[k - PARAMETERS] = values[i];
        } else {
            return ERROR;
        }
    }
    m->step = 0.0;
    return OK;
}

/* there are no variables of other types */
#define NO_VARIABLES(name, type) \
    FMI status fmi3Get##name(void *instance, const reference *which, size_t n, type *values, size_t size) \
    { \
        (void)instance, (void)which, (void)values, (void)size; \
        return n ? ERROR : OK; \
    } \
    FMI status fmi3Set##name(void *instance, const reference *which, size_t n, const type *values, size_t size) \
    { \
        (void)instance, (void)which, (void)values, (void)size; \
        return n ? ERROR : OK; \
    }
NO_VARIABLES(Float32, float)
NO_VARIABLES(Int8, int8_t)
NO_VARIABLES(UInt8, uint8_t)
NO_VARIABLES(Int16, int16_t)
NO_VARIABLES(UInt16, uint16_t)
NO_VARIABLES(Int32, int32_t)
NO_VARIABLES(UInt32, uint32_t)
NO_VARIABLES(Int64, int64_t)
NO_VARIABLES(UInt64, uint64_t)
NO_VARIABLES(Boolean, bool)
NO_VARIABLES(String, char *)

#define NO_BINARIES(name, constant) \
    FMI status name(void *instance, const reference *which, size_t n, constant size_t *sizes, \
        const uint8_t *constant *values, size_t size) \
    { \
        (void)instance, (void)which, (void)sizes, (void)values, (void)size; \
        return n ? ERROR : OK; \
    }
NO_BINARIES(fmi3GetBinary, )
NO_BINARIES(fmi3SetBinary, const)

/* nor are there clocks */
#define NO_CLOCKS(name, type) \
    FMI status name(void *instance, const reference *which, size_t n, type *values) \
    { \
        (void)instance, (void)which, (void)values; \
        return n ? ERROR : OK; \
    }
NO_CLOCKS(fmi3GetClock, bool)
NO_CLOCKS(fmi3SetClock, const bool)
NO_CLOCKS(fmi3GetShiftDecimal, double)
NO_CLOCKS(fmi3SetShiftDecimal, const double)
NO_CLOCKS(fmi3SetIntervalDecimal, const double)

#define NO_FRACTIONS(name, type) \
    FMI status name(void *instance, const reference *which, size_t n, type *counters, type *resolutions) \
    { \
        (void)instance, (void)which, (void)counters, (void)resolutions; \
        return n ? ERROR : OK; \
    }
NO_FRACTIONS(fmi3GetShiftFraction, uint64_t)
NO_FRACTIONS(fmi3SetShiftFraction, const uint64_t)
NO_FRACTIONS(fmi3SetIntervalFraction, const uint64_t)

FMI status fmi3GetIntervalDecimal(void *instance, const reference *which, size_t n, double *intervals, int *qualifiers)
{
    (void)instance, (void)which, (void)intervals, (void)qualifiers;
    return n ? ERROR : OK;
}

FMI status fmi3GetIntervalFraction(void *instance, const reference *which, size_t n, uint64_t *counters,
    uint64_t *resolutions, int *qualifiers)
{
    (void)instance, (void)which, (void)counters, (void)resolutions, (void)qualifiers;
    return n ? ERROR : OK;
}

FMI status fmi3ActivateModelPartition(void *instance, reference clock, double time)
{
    (void)instance, (void)clock, (void)time;
    return ERROR;
}

/* what the description says is not provided */

FMI status fmi3GetNumberOfVariableDependencies(void *instance, reference which, size_t *count)
{
    (void)instance, (void)which, (void)count;
    return ERROR;
}

FMI status fmi3GetVariableDependencies(void *instance, reference which, size_t *elements, reference *independents,
    size_t *others, int *kinds, size_t n)
{
    (void)instance, (void)which, (void)elements, (void)independents, (void)others, (void)kinds, (void)n;
    return ERROR;
}

FMI status fmi3GetAdjointDerivative(void *instance, const reference *unknowns, size_t n, const reference *knowns, size_t k,
    const double *seed, size_t n_seed, double *sensitivity, size_t n_sensitivity)
{
    (void)instance, (void)unknowns, (void)n, (void)knowns, (void)k, (void)seed, (void)n_seed, (void)sensitivity;
    (void)n_sensitivity;
    return ERROR;
}

FMI status fmi3GetOutputDerivatives(void *instance, const reference *which, size_t n, const int32_t *orders, double *values,
    size_t size)
{
    (void)instance, (void)which, (void)n, (void)orders, (void)values, (void)size;
    return ERROR;
}

/* derivatives of states, their rates and the outputs along a direction of time, states and parameters */

FMI status fmi3GetDirectionalDerivative(void *instance, const reference *unknowns, size_t n, const reference *knowns, size_t k,
    const double *seed, size_t n_seed, double *sensitivity, size_t n_sensitivity)
{
    model *m = instance;
    double along[DERIVATIVES + N_PARAMETERS] = {0.0}, moved[N_STATES], found[N_OUTPUTS + 1];
    bool has_rates = false, has_outputs = false;
    if (n_seed != k || n_sensitivity != n) {
        return ERROR;
    }
    for (size_t i = 0; i < k; i++) {
        const reference r = knowns[i];
        if (r >= OUTPUTS || (r >= DERIVATIVES && r < PARAMETERS)) {
            return ERROR;
        }
        along[r < DERIVATIVES ? r : r - N_STATES] += seed[i];
    }
    for (size_t i = 0; i < n; i++) {
        const reference r = unknowns[i];
        if (r < STATES || r >= END || (r >= PARAMETERS && r < OUTPUTS)) {
            return ERROR;
        } else if (r >= OUTPUTS) {
            if (!has_outputs) {
                outputs_along(m->t, m->y, &m->p, along, found);
                has_outputs = true;
            }
            sensitivity[i] = found[r - OUTPUTS];
        } else if (r >= DERIVATIVES) {
            if (!has_rates) {
                rates_along(m->t, m->y, &m->p, along, moved);
                has_rates = true;
            }
            sensitivity[i] = moved[r - DERIVATIVES];
        } else {
            sensitivity[i] = along[r];
        }
    }
    return OK;
}

/* the whole state, kept and given back */

FMI status fmi3FreeFMUState(void *instance, void **kept)
{
    (void)instance;
    free(*kept);
    *kept = NULL;
    return OK;
}

FMI status fmi3GetFMUState(void *instance, void **kept)
{
    if (!*kept) {
        *kept = malloc(sizeof(model));
    }
    if (!*kept) {
        return ERROR;
    }
    memcpy(*kept, instance, sizeof(model));
    return OK;
}

FMI status fmi3SetFMUState(void *instance, void *kept)
{
    memcpy(instance, kept, sizeof(model));
    return OK;
}

FMI status fmi3SerializedFMUStateSize(void *instance, void *kept, size_t *size)
{
    (void)instance, (void)kept;
    *size = sizeof(model);
    return OK;
}

FMI status fmi3SerializeFMUState(void *instance, void *kept, uint8_t *bytes, size_t size)
{
    (void)instance;
    if (size < sizeof(model)) {
        return ERROR;
    }
    memcpy(bytes, kept, sizeof(model));
    return OK;
}

FMI status fmi3DeserializeFMUState(void *instance, const uint8_t *bytes, size_t size, void **kept)
{
    (void)instance;
    if (!*kept) {
        *kept = malloc(sizeof(model));
    }
    if (!*kept || size != sizeof(model)) {
        return ERROR;
    }
    memcpy(*kept, bytes, sizeof(model));
    return OK;
}

/* model exchange */

FMI status fmi3SetTime(void *instance, double time)
{
    ((model *)instance)->t = time;
    return OK;
}

FMI status fmi3SetContinuousStates(void *instance, const double *y, size_t n)
{
    if (n != N_STATES) {
        return ERROR;
    }
    memcpy(((model *)instance)->y, y, n * sizeof *y);
    return OK;
}

FMI status fmi3GetContinuousStates(void *instance, double *y, size_t n)
{
    if (n != N_STATES) {
        return ERROR;
    }
    memcpy(y, ((model *)instance)->y, n * sizeof *y);
    return OK;
}

FMI status fmi3GetContinuousStateDerivatives(void *instance, double *moved, size_t n)
{
    model *m = instance;
    if (n != N_STATES) {
        return ERROR;
    }
    rates(m->t, m->y, &m->p, moved);
    return OK;
}

FMI status fmi3GetNominalsOfContinuousStates(void *instance, double *nominals, size_t n)
{
    (void)instance;
    for (size_t i = 0; i < n; i++) {
        nominals[i] = 1.0;
    }
    return OK;
}

FMI status fmi3GetNumberOfContinuousStates(void *instance, size_t *n)
{
    (void)instance;
    *n = N_STATES;
    return OK;
}

FMI status fmi3GetNumberOfEventIndicators(void *instance, size_t *n)
{
    (void)instance;
    *n = 0;
    return OK;
}

FMI status fmi3GetEventIndicators(void *instance, double *indicators, size_t n)
{
    (void)instance, (void)indicators;
    return n ? ERROR : OK;
}

FMI status fmi3CompletedIntegratorStep(void *instance, bool final, bool *enter_event_mode, bool *terminate)
{
    (void)instance, (void)final;
    *enter_event_mode = false;
    *terminate = false;
    return OK;
}

FMI status fmi3UpdateDiscreteStates(void *instance, bool *again, bool *terminate, bool *nominals, bool *values, bool *has_next,
    double *next)
{
    (void)instance, (void)next;
    *again = *terminate = *nominals = *values = *has_next = false;
    return OK;
}

/* co-simulation: the method of Dormand and Prince of order 5, with steps that keep the tolerance */

static double attempt(const model *m, double h, double *y)
{
    static const double c[] = {0.2, 0.3, 0.8, 8.0 / 9.0, 1.0, 1.0};
    static const double a[6][6] = {
        {0.2},
        {3.0 / 40.0, 9.0 / 40.0},
        {44.0 / 45.0, -56.0 / 15.0, 32.0 / 9.0},
        {19372.0 / 6561.0, -25360.0 / 2187.0, 64448.0 / 6561.0, -212.0 / 729.0},
        {9017.0 / 3168.0, -355.0 / 33.0, 46732.0 / 5247.0, 49.0 / 176.0, -5103.0 / 18656.0},
        {35.0 / 384.0, 0.0, 500.0 / 1113.0, 125.0 / 192.0, -2187.0 / 6784.0, 11.0 / 84.0},
    };
    /* the difference of the two solutions */
    static const double e[] = {71.0 / 57600.0, 0.0, -71.0 / 16695.0, 71.0 / 1920.0, -17253.0 / 339200.0, 22.0 / 525.0, -0.025};
    double k[7][N_STATES], worst = 0.0;
    rates(m->t, m->y, &m->p, k[0]);
    for (int s = 0; s < 6; s++) {
        for (int i = 0; i < N_STATES; i++) {
            double sum = 0.0;
            for (int j = 0; j <= s; j++) {
                sum += a[s][j] * k[j][i];
            }
            y[i] = m->y[i] + h * sum;
        }
        rates(m->t + c[s] * h, y, &m->p, k[s + 1]);
    }
    for (int i = 0; i < N_STATES; i++) {
        double error = 0.0;
        for (int s = 0; s < 7; s++) {
            error += e[s] * k[s][i];
        }
        error = fabs(h * error) / (m->tolerance * (1.0 + fabs(y[i])));
        if (!(error <= worst)) {
            worst = error; /* also where it is not a number */
        }
    }
    return worst;
}

FMI status fmi3DoStep(void *instance, double now, double size, bool final, bool *event, bool *terminate, bool *early,
    double *last)
{
    model *m = instance;
    const double end = now + size;
    (void)final;
    *event = *terminate = *early = false;
    m->t = now;
    if (m->step <= 0.0) {
        m->step = size / 8.0;
    }
    while (m->t < end) {
        double y[N_STATES];
        const bool reaches = m->t + m->step >= end;
        const double h = reaches ? end - m->t : m->step, error = attempt(m, h, y);
        if (error <= 1.0) {
            memcpy(m->y, y, sizeof y);
            m->t = reaches ? end : m->t + h;
        } else if (!(h > 1e-14 * (1.0 + fabs(m->t)))) {
            *last = m->t;
            return ERROR;
        }
        if (error > 1.0 || error != error || !reaches) {
            m->step = h * (error > 0.0 ? fmin(4.0, fmax(0.2, 0.9 * pow(error, -0.2))) : error == 0.0 ? 4.0 : 0.2);
        }
    }
    *last = m->t;
    return OK;
}
