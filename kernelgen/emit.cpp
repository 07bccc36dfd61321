#include "kernelgen/emit.h"

#include <algorithm>

namespace kernelgen {

void writer::line(const std::string &text) {
  text_ += (text.empty() ? "" : std::string(size_t(2 * depth_), ' ')) + text + "\n";
}

void writer::open(const std::string &text) {
  line(text + " {");
  depth_++;
}

void writer::otherwise() {
  depth_--;
  open("} else");
}

void writer::close(const std::string &after) {
  depth_--;
  line("}" + after);
}

namespace {

// The types of the configuration are compared with C's, when the source is compiled: size and kind.
void emit_type_checks(writer &out, const module_model &model) {
  static const std::map<std::string, std::string> sizes = {
      {"bool", "1"},    {"int8", "1"},    {"uint8", "1"},     {"int16", "2"},      {"uint16", "2"},
      {"float16", "2"}, {"int32", "4"},   {"uint32", "4"},    {"float32", "4"},    {"int64", "8"},
      {"uint64", "8"},  {"float64", "8"}, {"complex64", "8"}, {"complex128", "16"}};
  for (const auto &[name, map] : model.used_types) {
    auto size = sizes.find(map.element);
    if (size == sizes.end()) {
      continue; // a struct
    }
    bool structure = name.rfind("struct", 0) == 0, complex = map.element[0] == 'c';
    std::string kind = map.element[0] == 'f'   ? " && (" + name + ")0.5 != 0"
                       : map.element[0] == 'u' ? " && (" + name + ")0.5 == 0 && (" + name + ")-1 > 0"
                       : map.element[0] == 'i' ? " && (" + name + ")0.5 == 0 && (" + name + ")-1 < 0"
                                               : "";
    out.line("_Static_assert(sizeof(" + name + ") == " + size->second + (structure || complex ? "" : kind) +
             ", \"typemaps: " + name + " is not " + map.element + "\");");
  }
  out.blank();
}

void emit_declarations(writer &out, const module_model &model) {
  std::set<std::string> declared;
  std::string code = joined(model.header_code, "\n");
  for (const kernel &k : model.kernels) {
    for (const overload &o : k.overloads) {
      for (const variant &v : o.variants) {
        bool known = !model.includes.empty() || code.find(v.function.name) != code.npos;
        if (!known && declared.insert(v.function.name).second) {
          out.line(v.function.text() + ";");
        }
      }
    }
  }
  if (!declared.empty()) {
    out.blank();
  }
}

void emit_head(writer &out, const module_model &model) {
  out.line("/* Written by dynd-kernelgen from the configuration of " + model.name + ": change that instead. */");
  out.line("#include \"dynd/abi/arguments.h\"");
  out.line("#include \"dynd/abi/plugin.h\"");
  bool uses_errno = false, complex = false;
  for (const kernel &k : model.kernels) {
    uses_errno |= std::any_of(k.failures.begin(), k.failures.end(),
                              [](const failure_rule &f) { return f.condition.find("errno") != f.condition.npos; });
  }
  for (const auto &[name, map] : model.used_types) {
    complex |= name.find("_Complex") != name.npos;
  }
  if (uses_errno) {
    out.line("#include <errno.h>");
  }
  if (complex) {
    out.line("#include <complex.h>");
  }
  for (const std::string &header : model.includes) {
    out.line("#include " + (header[0] == '<' || header[0] == '"' ? header : "\"" + header + "\""));
  }
  out.blank();
  for (const std::string &line : model.header_code) {
    out.raw(line + "\n");
  }
  if (!model.header_code.empty()) {
    out.blank();
  }
  emit_declarations(out, model);
  emit_type_checks(out, model);
}

void emit_shared(writer &out, const module_model &model) {
  if (std::any_of(model.kernels.begin(), model.kernels.end(), [](const kernel &k) { return !k.threadsafe; })) {
    out.line("/* Functions that are not known to be safe on several threads are called one at a time. */");
    out.line("static pthread_mutex_t dynd_one_at_a_time = PTHREAD_MUTEX_INITIALIZER;");
    out.blank();
  }
  std::set<const resource *> used;
  for (const kernel &k : model.kernels) {
    used.insert(k.resources.begin(), k.resources.end());
  }
  if (!used.empty()) {
    out.line("static pthread_mutex_t dynd_making = PTHREAD_MUTEX_INITIALIZER;");
  }
  for (const std::unique_ptr<resource> &r : model.resources) {
    if (used.count(r.get())) {
      out.open("static void dynd_release_" + r->name + "(void *handle)");
      out.line(r->type + " " + r->name + " = (" + r->type + ")handle;");
      out.line("pthread_mutex_lock(&dynd_making);");
      out.line(r->release + ";");
      out.line("pthread_mutex_unlock(&dynd_making);");
      out.close();
      out.blank();
    }
  }
}

} // namespace

std::string emit(const module_model &model) {
  writer out;
  emit_head(out, model);
  emit_shared(out, model);
  std::vector<std::string> all;
  for (const kernel &k : model.kernels) {
    for (const overload &o : k.overloads) {
      emit_overload(out, model, k, o);
      all.push_back("&" + o.symbol + "_kernel");
    }
  }
  out.line("static const deferred_ckernel *const dynd_all[] = {" + joined(all, ", ") + "};");
  out.blank();
  out.open("int dynd_plugin_init(const dynd_host *host)");
  out.open("for (size_t i = 0; i < sizeof(dynd_all) / sizeof(*dynd_all); i++)");
  out.line("int status = host->register_kernel(host, dynd_all[i]);");
  out.line("if (status != dynd_ok)");
  out.line("  return status;");
  out.close();
  out.line("return dynd_ok;");
  out.close();
  return out.take();
}

} // namespace kernelgen
