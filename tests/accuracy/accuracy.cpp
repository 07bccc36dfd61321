// The errors of the transcendental functions in units in the last place (ULP), against MPFR: `make accuracy` writes the
// table docs/accuracy.md from a million arguments of each function and type, `make test` checks the bars on 20,000. The
// arguments are edges and their neighbours, numbers of every size, and numbers where the function has its shape. On the
// way the bits of all ISA levels are compared.
//
// Usage: accuracy COUNT [FILE] [--only NAME]
#include <atomic>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <mutex>
#include <sstream>
#include <thread>

#include "functions.h"

namespace dynd::accuracy {
namespace {

/// What was measured of one function in one type.
struct measured {
  size_t count = 0, wrong = 0;
  double error = 0;
  std::string where, complaint;
};

template <class T> std::string show(T x) {
  char text[64];
  std::snprintf(text, sizeof text, sizeof(T) == 8 ? "%.17g" : "%.9g", double(x));
  return text;
}

/// The distance of a result from the exact value, in units in the last place of the exact value, or of `least` if that
/// is larger. Infinite where it is wrong about NaN, infinities or the sign of a zero.
template <class T> double error_of(T got, mpfr_t exact, double least) {
  constexpr int digits = std::numeric_limits<T>::digits, lowest = std::numeric_limits<T>::min_exponent;
  if (mpfr_nan_p(exact) || got != got) {
    return mpfr_nan_p(exact) && got != got ? 0 : INFINITY;
  }
  if (mpfr_inf_p(exact)) {
    return T(mpfr_get_d(exact, MPFR_RNDN)) == got ? 0 : INFINITY;
  }
  if (mpfr_zero_p(exact)) {
    return got == 0 && std::signbit(got) == (mpfr_signbit(exact) != 0) ? 0 : INFINITY;
  }
  if (got == 0 && std::signbit(got) != (mpfr_signbit(exact) != 0)) {
    return INFINITY;
  }
  long exponent = mpfr_get_exp(exact);
  if (exponent > std::numeric_limits<T>::max_exponent) { // out of range
    return std::isinf(got) && std::signbit(got) == (mpfr_signbit(exact) != 0) ? 0 : INFINITY;
  }
  exponent = least > 0 ? std::max(exponent, long(std::ilogb(least)) + 1) : exponent;
  mpfr_t difference;
  mpfr_init2(difference, 2 * work_bits);
  // An infinite result is the number after the largest.
  double value = std::isinf(got) ? std::copysign(1.0, double(got)) : double(got);
  mpfr_set_d(difference, value, MPFR_RNDN);
  if (std::isinf(got)) {
    mpfr_mul_2si(difference, difference, std::numeric_limits<T>::max_exponent, MPFR_RNDN);
  }
  mpfr_sub(difference, difference, exact, MPFR_RNDN);
  mpfr_mul_2si(difference, difference, digits - std::max(exponent, long(lowest)), MPFR_RNDN);
  double error = std::fabs(mpfr_get_d(difference, MPFR_RNDN));
  mpfr_clear(difference);
  return error;
}

/// The results of every ISA level that this CPU can run; the number of elements in which one differs is `wrong`.
template <class T>
std::vector<T> results_of(op_id op, scalar_id type, const std::vector<T> &a, const std::vector<T> &b, measured &to) {
  std::vector<T> first(a.size()), other(a.size());
  for (const isa_table *const *table = runnable_isa_tables(); *table; ++table) {
    std::vector<T> &into = table == runnable_isa_tables() ? first : other;
    (*table)->loop(op, type)(into.data(), a.data(), b.data(), nullptr, a.size(), nullptr);
    for (size_t i = 0; &into == &other && i < a.size(); ++i) {
      if (!same_bits(first[i], other[i]) && to.wrong++ == 0) {
        to.complaint = std::string((*table)->name) + " differs from baseline";
        to.where = show(a[i]) + (b.empty() ? "" : ", " + show(b[i]));
      }
    }
  }
  return first;
}

template <class T> measured measure(const function &f, scalar_id type, size_t count) {
  measured result;
  argument_maker<T> make(f);
  std::vector<T> a, b;
  make.fill(count, a, b);
  std::vector<T> got = results_of(f.op, type, a, b, result);
  mpfr_t x, y, exact;
  mpfr_inits2(work_bits, x, y, nullptr);
  mpfr_init2(exact, work_bits);
  for (size_t i = 0; i < a.size(); ++i) {
    mpfr_set_d(x, double(a[i]), MPFR_RNDN);
    mpfr_set_d(y, b.empty() ? 0 : double(b[i]), MPFR_RNDN);
    f.exact(exact, x, y);
    double least = f.least ? f.least(double(a[i]), b.empty() ? 0 : double(b[i])) : 0;
    double error = error_of(got[i], exact, least);
    if (error > result.error || (error == INFINITY && result.error != INFINITY)) {
      result.error = error;
      result.where = show(a[i]) + (b.empty() ? "" : ", " + show(b[i]));
      char text[80];
      mpfr_snprintf(text, sizeof text, " gave %s, exact is %.20Rg", show(got[i]).c_str(), exact);
      result.complaint = text;
    }
  }
  result.count = a.size();
  mpfr_clears(x, y, exact, nullptr);
  return result;
}

struct line {
  const function *f;
  measured in64, in32;
};

/// Two threads: a machine for tests has that many.
std::vector<line> measure_all(size_t count, const std::string &only) {
  std::vector<line> lines;
  for (const function &f : functions) {
    if (only.empty() || only == operation_of(f.op).name) {
      lines.push_back({&f, {}, {}});
    }
  }
  std::atomic<size_t> next{0};
  auto work = [&] {
    for (size_t job; (job = next++) < 2 * lines.size();) {
      line &to = lines[job / 2];
      if (job % 2) {
        to.in32 = measure<float>(*to.f, scalar_id::float32, count);
      } else {
        to.in64 = measure<double>(*to.f, scalar_id::float64, count);
      }
    }
    mpfr_free_cache();
  };
  std::thread second(work);
  work();
  second.join();
  return lines;
}

std::string table_of(const std::vector<line> &lines, size_t count) {
  std::ostringstream text;
  text
      << "# Errors of the transcendental functions\n\n"
      << "Written by `make accuracy`: the greatest error in units in the last place (ULP) against MPFR, over " << count
      << "\narguments of each function and type: edges and their neighbours, numbers of every size, huge ones "
      << "too, and numbers\nwhere the function has its shape. NaN, infinities and signs of zeros are all as C says. "
         "The "
      << "bits are the same at every\nISA level ([0024](decisions/0024-transcendental-functions.md)). A float16 is the "
      << "float32 rounded once more.\n\n"
      << "| Function | Bar | float64 | at | float32 | at |\n|---|---|---|---|---|---|\n";
  for (const line &l : lines) {
    char row[400];
    std::snprintf(row, sizeof row, "| `%s`%s | %g | %.3f | %s | %.3f | %s |\n", operation_of(l.f->op).name,
                  l.f->least ? " (*)" : "", l.f->bar, l.in64.error, l.in64.where.c_str(), l.in32.error,
                  l.in32.where.c_str());
    text << row;
  }
  text
      << "\n(*) Where terms cancel, a unit is at least that of the larger operand of `logaddexp` and `logaddexp2`, and "
         "that of\n1/16 for `lgamma` of negative numbers, near whose zeros the relative error grows.\n";
  return text.str();
}

int report(const std::vector<line> &lines) {
  int failed = 0;
  for (const line &l : lines) {
    for (const measured *m : {&l.in64, &l.in32}) {
      bool bad = !(m->error <= l.f->bar) || m->wrong != 0;
      failed += bad;
      if (bad) {
        std::printf("%s %s: %.3f ULP, at most %g; %zu differ between ISA levels; at %s%s\n", operation_of(l.f->op).name,
                    m == &l.in64 ? "float64" : "float32", m->error, l.f->bar, m->wrong, m->where.c_str(),
                    m->complaint.c_str());
      }
    }
  }
  std::printf("%zu functions in float64 and float32, %zu arguments each: %d beyond their bar\n", lines.size(),
              lines.empty() ? 0 : lines[0].in64.count, failed);
  return failed != 0;
}

} // namespace
} // namespace dynd::accuracy

int main(int argc, char **argv) {
  using namespace dynd::accuracy;
  if (argc < 2) {
    std::fprintf(stderr, "usage: accuracy COUNT [FILE] [--only NAME]\n");
    return 2;
  }
  size_t count = size_t(std::atoll(argv[1]));
  std::string file, only;
  for (int i = 2; i < argc; ++i) {
    if (std::strcmp(argv[i], "--only") == 0 && i + 1 < argc) {
      only = argv[++i];
    } else {
      file = argv[i];
    }
  }
  std::vector<line> lines = measure_all(count, only);
  if (!file.empty()) {
    std::ofstream(file) << table_of(lines, count);
  }
  return report(lines);
}
