/* The functions that test_kernelgen.py wraps: those of the reference's examples, and others. */
#include <complex.h>
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

double square(double a) { return a * a; }
int isquare(int a) { return a * a; }

double ddot_(const int *n, double *x, const int *incx, double *y, const int *incy) {
  double sum = 0;
  for (int i = 0; i < *n; i++)
    sum += x[i * *incx] * y[i * *incy];
  return sum;
}
void scale(int n, double f, double *x) {
  for (int i = 0; i < n; i++)
    x[i] *= f;
}
long array_range(long n, long *a) {
  long sum = 0;
  for (long i = 0; i < n; i++) {
    sum += a[i];
    a[i] = i;
  }
  return sum;
}
void fill_range(int n, double *a) {
  for (int i = 0; i < n; i++)
    a[i] = i;
}
void fill_some(int n, double *a) { /* every second one only */
  for (int i = 0; i < n; i += 2)
    a[i] = 1 + i;
}
void transpose(int m, int n, const double *a, double *r) {
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++)
      r[j * m + i] = a[i * n + j];
}
void outer(int m, int n, const double *x, const double *y, double *r) {
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++)
      r[i * n + j] = x[i] * y[j];
}
void mv(int m, int n, const double *a, const double *x, double *y) {
  for (int i = 0; i < m; i++) {
    y[i] = 0;
    for (int j = 0; j < n; j++)
      y[i] += a[i * n + j] * x[j];
  }
}
/* The elements as they are in memory. */
void as_memory(int n, const double *a, double *r) {
  for (int i = 0; i < n; i++)
    r[i] = a[i];
}
void numbers_in_memory(int n, double *r) {
  for (int i = 0; i < n; i++)
    r[i] = i;
}
double sum_first(int n, const double *a) {
  double sum = 0;
  for (int i = 0; i < n; i++)
    sum += a[i];
  return sum;
}
long add_ten(long *a) {
  *a += 10;
  return *a + 20;
}
double which_c(int n, const double *a) { return a ? n : -1; }
double which_f(int n, const double *a) { return a ? 1000 + n : -1; }
double which_s(int n, const double *a, int step) { return a ? 2000 + n + 100 * step : -1; }
double which_x(int n, const double *a) { return a ? 3000 + n : -1; }
void take(const double *x, int m, double *r) {
  for (int i = 0; i < m; i++)
    r[i] = x[i];
}
int half(int a, int *to) {
  if (a % 2)
    return a < 0 ? -1 : 1;
  *to = a / 2;
  return 0;
}
int halve(int n, int *a) {
  for (int i = 0; i < n; i++) {
    if (a[i] % 2)
      return i + 1;
    a[i] /= 2;
  }
  return 0;
}
double inverse(double x) {
  if (x == 0)
    errno = EDOM;
  return 1 / x;
}
double sum_rows(int m, int n, const double *const *rows) {
  double sum = 0;
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++)
      sum += rows[i][j] * (i + 1);
  return sum;
}
double trace3(double (*a)[3]) { return a[0][0] + a[1][1] + a[2][2]; }
static double table[4] = {1, 2, 3, 4};
double *first_of_table(int n) { return n <= 4 ? table : NULL; }
double apply(double (*f)(double), double x) { return f(x); }
typedef struct {
  double x, y;
} point;
double length(point p) { return hypot(p.x, p.y); }
point moved(point p, double by) { return (point){p.x + by, p.y + by}; }
void minmax(int n, const double *a, double *least, double *most) {
  *least = *most = a[0];
  for (int i = 1; i < n; i++) {
    *least = a[i] < *least ? a[i] : *least;
    *most = a[i] > *most ? a[i] : *most;
  }
}
_Bool not_(_Bool a) { return !a; }
#define SAME(type, name)                                                                                               \
  type same_##name(type a) { return a; }                                                                               \
  void copy_##name(int n, const type *a, type *r) {                                                                    \
    for (int i = 0; i < n; i++)                                                                                        \
      r[i] = a[i];                                                                                                     \
  }
SAME(int8_t, int8)
SAME(int16_t, int16)
SAME(int32_t, int32)
SAME(int64_t, int64)
SAME(uint8_t, uint8)
SAME(uint16_t, uint16)
SAME(uint32_t, uint32)
SAME(uint64_t, uint64)
SAME(float, float32)
SAME(double, float64)
SAME(float _Complex, complex64)
SAME(double _Complex, complex128)
int made, released, calls;
void *make_plan(int n) {
  int *plan = malloc(sizeof(int));
  made++;
  *plan = n;
  return plan;
}
void release_plan(void *plan) {
  released++;
  free(plan);
}
int count_made(int ignored) { return made + 0 * ignored; }
int count_released(int ignored) { return released + 0 * ignored; }
int run_plan(void *plan, int n, const double *x, double *r) {
  for (int i = 0; i < n; i++)
    r[i] = x[n - 1 - i];
  return *(int *)plan != n;
}
