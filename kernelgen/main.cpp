// dynd-kernelgen: C and Fortran functions as kernels of DyND.
#include <iostream>

#include "kernelgen/build.h"
#include "kernelgen/emit.h"
#include "kernelgen/resolve.h"
#include "kernelgen/scan.h"

namespace {

using namespace kernelgen;

const char usage[] = R"(dynd-kernelgen makes kernels of DyND out of C and Fortran functions.

  dynd-kernelgen check CONFIG                    says what is wrong with a configuration; else lists its kernels
  dynd-kernelgen generate CONFIG [-o FILE]       writes the source of the plug-in (MODULE-kernels.c; - is the terminal)
  dynd-kernelgen build CONFIG [-o FILE]          compiles and links it too (MODULE-kernels.so)
  dynd-kernelgen scan HEADER... [-o CONFIG]      reads real headers, with libclang, and writes a configuration with a guess
                                                 for every function; one that exists is kept, and gets what is new

Options of build:
  --flag FLAG      one more flag for the compiler, as --flag=-g
  --inputs FILE    writes there the files that it was made of, a line each, but for the system's
  -v               shows the commands

Options of scan:
  --match REGEX, --exclude REGEX     functions by their whole names; may be given several times
  --include-dir DIR, --module NAME, --library NAME, --prefix NAME, --threadsafe     what is written of them
  --guess          fails where there is something to decide, instead of marking it

  $ dynd-kernelgen scan gsl/gsl_sf.h --match 'gsl_sf_bessel_.*' --library gsl -o bessel.cfg

An example, ddot.cfg:

  [MODULE blas]
  includes = cblas.h
  libraries = openblas

  [KERNEL ddot]
  prototypes = double cblas_ddot(const int n, const double *x, const int incx, const double *y, const int incy)
  input = x(n), y(n)
  hide = n, incx = 1, incy = 1

  $ dynd-kernelgen build ddot.cfg
  $ python -c 'from dynd import nd; nd.load("./blas-kernels.so"); print(nd.ddot([[1, 2], [3]], [[1, 1], [2]]))'
  [3, 6]

The compilers are those of CC, CXX and FC; the headers of DyND are found beside this program, or by DYND_INCLUDE.
docs/kernelgen.md has the rest.
)";

struct options {
  scan_options scan;
  std::string command;
  std::vector<std::string> files;
  std::string output;
  build_options build;
};

options read_options(int count, char **words) {
  options all;
  for (int i = 1; i < count; i++) {
    std::string word = words[i];
    auto value = [&] {
      size_t sign = word.find('=');
      if (word.rfind("--", 0) == 0 && sign != word.npos) {
        return word.substr(sign + 1);
      }
      if (i + 1 >= count) {
        throw problem({}, word + ": a value is missing");
      }
      return std::string(words[++i]);
    };
    auto is = [&](const char *name) { return word == name || word.rfind(std::string(name) + "=", 0) == 0; };
    if (is("--match") || word == "-r") {
      all.scan.match.push_back(value());
    } else if (is("--exclude") || word == "-x") {
      all.scan.exclude.push_back(value());
    } else if (is("--include-dir") || word == "-I") {
      all.scan.include_dirs.push_back(value());
    } else if (is("--module") || word == "-m") {
      all.scan.module = value();
    } else if (is("--library")) {
      all.scan.library = value();
    } else if (is("--prefix")) {
      all.scan.prefix = value();
    } else if (word == "--guess" || word == "--threadsafe") {
      (word == "--guess" ? all.scan.guess : all.scan.threadsafe) = true;
    } else if (word == "-o" || word == "--output") {
      all.output = value();
    } else if (is("--flag")) {
      all.build.flags.push_back(value());
    } else if (is("--inputs")) {
      all.build.inputs = value();
    } else if (word == "-v") {
      all.build.verbose = true;
    } else if (word == "--help" || word == "-h") {
      all.command = "help";
      return all;
    } else if (word.size() > 1 && word[0] == '-') {
      throw problem({}, "there is no option " + word + "; --help shows what there is");
    } else if (all.command.empty()) {
      all.command = word;
    } else {
      all.files.push_back(word);
    }
  }
  return all;
}

void list(const module_model &model) {
  for (const kernel &k : model.kernels) {
    for (const overload &o : k.overloads) {
      std::cout << k.name << " " << o.main().signature << "  [" << o.main().function.name << "]\n";
    }
  }
}

int run_scan(const options &given) {
  scan_options how = given.scan;
  how.headers = given.files;
  how.output = given.output;
  if (how.headers.empty()) {
    throw problem({}, "scan: expected headers; --help shows how");
  }
  std::vector<std::string> skipped;
  std::string text = scan(how, skipped);
  write_text(how.output.empty() ? "-" : how.output, text);
  for (const std::string &reason : skipped) {
    std::cerr << "skipped: " << reason << "\n";
  }
  return 0;
}

int run(const options &given) {
  if (given.command == "scan") {
    return run_scan(given);
  }
  if (given.files.size() != 1) {
    throw problem({}, given.command + ": expected one configuration; --help shows how");
  }
  config text = read_config(given.files[0]);
  module_model model = resolve(text);
  for (const std::string &note : model.notes) {
    std::cerr << model.path << ": note: " << note << "\n";
  }
  std::string output = given.output;
  if (given.command == "check") {
    list(model);
  } else if (given.command == "generate") {
    write_text(output.empty() ? model.name + "-kernels.c" : output, emit(model));
  } else {
    build_options how = given.build;
    how.output = output.empty() ? model.name + "-kernels.so" : output;
    build(model, emit(model), how);
  }
  return 0;
}

} // namespace

int main(int count, char **words) {
  try {
    options given = read_options(count, words);
    for (const char *help : {"", "help"}) {
      if (given.command == help) {
        std::cout << usage;
        return 0;
      }
    }
    if (given.command != "check" && given.command != "generate" && given.command != "build" &&
        given.command != "scan") {
      throw problem({}, "there is no command " + given.command + "; --help shows what there is");
    }
    return run(given);
  } catch (const problem &p) {
    std::cerr << p.what() << "\n";
    return 1;
  } catch (const std::exception &e) {
    std::cerr << "error: " << e.what() << "\n";
    return 1;
  }
}
