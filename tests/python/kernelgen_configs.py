"""The configurations that test_kernelgen.py and test_kernelgen_fuzz.py share: those of the reference, and others."""

CONFIG = """
[MODULE kg]
typemaps: double:float64, float:float32, int:int32, long:int64
kinds: C, Xnd
ellipses: none, ...
includes: <stdlib.h> <complex.h>
sources: {functions}
prefix: kg_
header_code:
    typedef struct {{ double x, y; }} point;
    double square(double); int isquare(int);
    double ddot_(const int *n, double *x, const int *incx, double *y, const int *incy);
{declarations}

[KERNEL square]
kinds: Xnd
ellipses: ..., var...
prototypes: double square(double a); int isquare(int a)
input: a
threadsafe: yes
pure: yes

[KERNEL ddot]
prototypes: double ddot_(const int *n, double *x, const int *incx, double *y, const int *incy)
input: x(n), y(n)
hide: n = len(x), incx = 1, incy = 1

[KERNEL scale]
prototypes: void scale(int n, double f, double *x)
input: f
inplace: x(n)
hide: n = len(x)

[KERNEL range_input]
prototypes: long array_range(long n, long *a)
input: a(n)
hide: n = len(a)

[KERNEL range_inout]
prototypes: long array_range(long n, long *a)
inout: a(n)
hide: n = len(a)

[KERNEL range_inplace]
prototypes: long array_range(long n, long *a)
inplace: a(n)
hide: n = len(a)

[KERNEL range_input_output]
prototypes: long array_range(long n, long *a)
input: a(n)
output: a
hide: n = len(a)

[KERNEL range_inplace_output]
prototypes: long array_range(long n, long *a)
inplace: a(n)
output: a
hide: n = len(a)

[KERNEL range_inout_output]
prototypes: long array_range(long n, long *a)
inout: a(n)
output: a
hide: n = len(a)

[KERNEL range_output]
prototypes: long array_range(long n, long *a)
input: n
output: a(n)

[KERNEL range_hide]
prototypes: long array_range(long n, long *a)
input: n
hide: a(n)

[KERNEL range_new]
prototypes: long array_range(long n, long *a)
input: n
hide: a = new(8 * n)

[KERNEL fill_range]
prototypes: void fill_range(int n, double *a)
input: n
output: a(n)

[KERNEL fill_some]
prototypes: void fill_some(int n, double *a)
input: n
output: a(n)

[KERNEL transpose]
prototypes: void transpose(int m, int n, const double *a, double *r)
input: a(m,n)
output: r(n,m)
hide: m = shape(a,0), n = shape(a,1)

[KERNEL outer]
prototypes: void outer(int m, int n, const double *x, const double *y, double *r)
input: x(m), y(n)
output: r(m,n)
hide: m, n

[KERNEL mv]
prototypes: void mv(int m, int n, const double *a, const double *x, double *y)
input: a(m,n), x(n)
output: y(m)
hide: m, n

[KERNEL memory_c]
prototypes: void as_memory(int n, const double *a, double *r)
input: a(m, k)
output: r(n)
hide: n = size(a)

[KERNEL memory_f]
kinds: Xnd, Fortran
prototypes: void as_memory(int n, const double *a, double *r)
fortran: a
input: a(m, k)
output: r(n)
hide: n = size(a)

[KERNEL memory_f3]
prototypes: void as_memory(int n, const double *a, double *r)
kinds: Xnd
fortran: a
input: a(m, k, l)
output: r(n)
hide: n = size(a)

[KERNEL identity_f]
kinds: Xnd, Fortran
prototypes: void as_memory(int n, const double *a, double *r)
fortran: a, r
input: a(m, k)
output: r(m, k)
hide: n = size(a)

[KERNEL which]
kinds: Xnd
prototypes: double which_x(int n, const double *a)
prototypes[C]: double which_c(int n, const double *a)
prototypes[Fortran]: double which_f(int n, const double *a)
prototypes[Strided]: double which_s(int n, const double *a, int step)
input: a(m, k)
hide: n = size(a), step = `(int)(a_stride[1] / 8)`

[KERNEL which_v]
kinds: C
prototypes: double which_c(int n, const double *a)
input: a(n)
hide: n

[KERNEL which_steps]
kinds: Strided
prototypes: double which_s(int n, const double *a, int step)
input: a(n)
hide: n, step = stride(a, 0)

[KERNEL sum_first]
prototypes: double sum_first(int n, const double *a)
input: n = 2, a(k)

[KERNEL ten_input]
prototypes: long add_ten(long *a)
input: a = 5

[KERNEL ten_plain]
prototypes: long add_ten(long *a)
input: a

[KERNEL ten_inplace]
prototypes: long add_ten(long *a)
inplace: a = 5

[KERNEL ten_inout_output]
prototypes: long add_ten(long *a)
inout: a
output: a

[KERNEL ten_output]
prototypes: long add_ten(long *a)
output: a = 5

[KERNEL ten_hide]
prototypes: long add_ten(long *a)
hide: a = 5

[KERNEL take]
prototypes: void take(const double *x, int m, double *r)
input: x(n), m
output: r(m)

[KERNEL checked]
prototypes: double sum_first(int n, const double *a)
input: n, a(n + 1)

[KERNEL agree]
prototypes: double sum_first(int n, const double *a)
input: n, a(n)

[KERNEL half]
prototypes: int half(int a, int *to)
input: a
output: to
return: hide
errors:
    result < 0 => index: {{a}} is negative and odd
    result != 0 => value: {{a}} is odd, 100% sure

[KERNEL halve]
prototypes: int halve(int n, int *a)
inplace: a(n)
hide: n
return: status

[KERNEL inverse]
prototypes: double inverse(double x)
input: x
errors: errno != 0 => value: {{s: "no inverse"}}

[KERNEL sum_rows]
prototypes: double sum_rows(int m, int n, const double *const *rows)
input: rows(m, n)
hide: m, n

[KERNEL trace3]
prototypes: double trace3(double (*a)[3])
input: a(3, 3)

[KERNEL table]
prototypes: double *first_of_table(int n)
input: n
return: first(n)

[KERNEL applied]
prototypes: double apply(double (*f)(double), double x)
input: x
hide: f = square

[KERNEL minmax]
prototypes: void minmax(int n, const double *a, double *least, double *most)
input: a(n)
hide: n
output: least, most
description: The least and the largest element.
    Of a row.

[KERNEL coded]
prototypes: double sum_first(int n, const double *a)
input: a(n)
hide: n
before: double twice = 2;
after: result *= twice;

[KERNEL sum_or_missing]
prototypes: double sum_first(int n, const double *a)
input: a(n)
hide: n
missing: propagate

[KERNEL outer_or_missing]
prototypes: void outer(int m, int n, const double *x, const double *y, double *r)
input: x(m), y(n)
output: r(m,n)
hide: m, n
missing: propagate

[KERNEL not_]
prototypes: _Bool not_(_Bool a)
input: a
{types}
"""

STRUCTS = """
[MODULE structs]
typemaps: point: {{x: float64, y: float64}}
sources: {functions}
prefix: kg_
header_code:
    typedef struct {{ double x, y; }} point;
    double length(point); point moved(point, double);
    int run_plan(void *, int, const double *, double *);
    void *make_plan(int); void release_plan(void *);
    int count_made(int); int count_released(int);

[RESOURCE plan]
type: void *
make: make_plan(n)
release: release_plan(plan)
key: n

[KERNEL length]
prototypes: double length(point p)
input: p

[KERNEL moved]
prototypes: point moved(point p, double by)
input: p, by

[KERNEL reversed_]
prototypes: int run_plan(void *plan, int n, const double *x, double *r)
resources: plan
input: x(n)
hide: n, plan = plan
output: r(n)
return: status
threadsafe: yes

[KERNEL count_made]
prototypes: int count_made(int ignored)
input: ignored

[KERNEL count_released]
prototypes: int count_released(int ignored)
input: ignored
"""
