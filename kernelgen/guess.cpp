// What a declaration says about the intents of its arguments: const pointers are inputs, sizes are recognised by name.
#include <algorithm>
#include <cctype>
#include <set>

#include "kernelgen/scan.h"

namespace kernelgen {

namespace {

bool is_integer(const scanned_parameter &p) {
  return p.pointers == 0 && (p.element.rfind("int", 0) == 0 || p.element.rfind("uint", 0) == 0);
}

bool is_increment(const std::string &name) {
  std::string low = lowered(name);
  return low.rfind("inc", 0) == 0 || low.find("stride") != low.npos;
}

bool is_size(const scanned_parameter &p) {
  static const std::set<std::string> names = {"n",   "m",     "k",     "l",    "len",  "length", "size", "count",
                                              "num", "nmemb", "nelem", "nmax", "rows", "cols",   "dim"};
  std::string low = lowered(p.name);
  bool of_pointer = p.pointers == 1 && p.is_const && (p.element.rfind("int", 0) == 0); // Fortran's
  bool number = is_integer(p) || of_pointer;
  return number && !is_increment(p.name) &&
         (names.count(low) || low.rfind("num_", 0) == 0 || low.rfind("n_", 0) == 0 ||
          (low.size() > 4 && (low.substr(low.size() - 4) == "_len" || low.substr(low.size() - 4) == "size")));
}

class guesser {
public:
  explicit guesser(const scanned_function &f) : f_(f) {}

  kernel_guess guess() {
    if (f_.is_variadic) {
      made_.skip = "a variable number of arguments";
      return made_;
    }
    for (const scanned_parameter &p : f_.parameters) {
      narrays_ += is_array(p);
      sizes_ += is_size(p) ? 1 : 0;
    }
    for (const scanned_parameter &p : f_.parameters) {
      add(p);
    }
    add_result();
    if (made_.input.size() + made_.inplace.size() > 8 && !made_.skip && made_.open.empty()) {
      made_.skip = "more than 8 operands";
    }
    return made_;
  }

private:
  bool is_array(const scanned_parameter &p) const {
    return p.pointers > 0 && !p.is_function && !is_size(p) && (p.is_const || !p.extents.empty());
  }

  void add(const scanned_parameter &p) {
    if (made_.skip) {
      return;
    }
    if (p.is_function) {
      made_.skip = p.name + " is a pointer to a function: hide it with a value";
    } else if (p.element.empty()) {
      made_.skip = p.name + " has the type " + p.spelling + ", which no array has";
    } else if (p.pointers > 1) {
      made_.skip = p.name + " is a pointer to pointers, " + p.spelling;
    } else if (p.pointers == 0 && is_increment(p.name) && narrays_ > 0) {
      made_.hide.push_back(p.name + " = 1");
    } else if (is_size(p) && narrays_ > 0) {
      made_.hide.push_back(p.name);
    } else if (p.pointers == 0) {
      made_.input.push_back(p.name);
    } else {
      add_pointer(p);
    }
  }

  void add_pointer(const scanned_parameter &p) {
    if (p.base == "char" && p.is_const) {
      made_.skip = p.name + " is a text";
      return;
    }
    std::string dims = dims_of(p);
    if (p.base == "void") {
      made_.open.push_back("what is " + p.name + "? `types = " + p.name + ": float64`");
    }
    bool one_struct = p.element[0] == '{' && p.extents.empty();
    if (dims.empty() && !one_struct) {
      made_.open.push_back("is " + p.name + " one value, or an array? of which size?");
    }
    if (p.is_const) {
      made_.input.push_back(p.name + dims);
    } else if (dims.empty()) {
      made_.output.push_back(p.name); // int frexp(double, int *)
    } else {
      made_.inplace.push_back(p.name + dims);
      made_.open.push_back("is " + p.name + " read and written (inplace), or an output?");
    }
  }

  // With one size all arrays have it; with several a person has to say.
  std::string dims_of(const scanned_parameter &p) const {
    if (!p.extents.empty() && p.extents[0] > 0) {
      std::vector<std::string> all;
      for (long long extent : p.extents) {
        all.push_back(std::to_string(extent));
      }
      return "(" + joined(all, ", ") + ")";
    }
    if (sizes_ != 1 || (!p.is_const && narrays_ == 0)) {
      return "";
    }
    for (const scanned_parameter &other : f_.parameters) {
      if (is_size(other)) {
        return "(" + other.name + ")";
      }
    }
    return "";
  }

  void add_result() {
    const scanned_parameter &r = f_.result;
    bool is_void = r.base == "void" && r.pointers == 0;
    if (made_.skip) {
      return;
    }
    if (!is_void && r.pointers > 0) {
      made_.open.push_back("it returns " + r.spelling + ": `return = name(size)`, or `return = hide`");
    } else if (!is_void && r.element.empty()) {
      made_.skip = "it returns " + r.spelling + ", which no array has";
    }
    if (is_void && made_.output.empty() && made_.inplace.empty()) {
      made_.skip = "it returns nothing, and writes no argument";
    }
    for (const std::string &size : made_.hide) { // a size that no array has is an input
      bool used = size.find('=') != size.npos || sizes_ > 1;
      for (const auto *list : {&made_.input, &made_.inplace}) {
        used = used || std::any_of(list->begin(), list->end(),
                                   [&](const std::string &a) { return a.find("(" + size + ")") != a.npos; });
      }
      if (!used) {
        made_.open.push_back("where does " + size + " come from?");
      }
    }
  }

  const scanned_function &f_;
  kernel_guess made_;
  int narrays_ = 0, sizes_ = 0;
};

} // namespace

kernel_guess guess_kernel(const scanned_function &f) { return guesser(f).guess(); }

} // namespace kernelgen
