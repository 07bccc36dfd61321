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

writer writer::inside() const {
  writer made;
  made.depth_ = depth_;
  return made;
}

void emit_with_checks(writer &out, const std::function<void(writer &)> &emit) {
  writer inside = out.inside();
  emit(inside);
  std::string text = inside.take();
  if (text.find("dynd_wrong") != text.npos) {
    out.line("int dynd_wrong = 0; /* a size overflows */");
  }
  out.raw(text);
}

namespace {

// Size and kind of a type of C: a float, an integer with a sign or without, anything else.
std::string type_test(const std::string &c_type, const std::string &element) {
  static const std::map<char, std::string> kinds = {
      {'f', " && (#)0.5 != 0"}, {'u', " && (#)0.5 == 0 && (#)-1 > 0"}, {'i', " && (#)0.5 == 0 && (#)-1 < 0"}};
  if (size_t size = fixed_text_size(element)) { // of a text, an array of bytes
    return "sizeof(" + c_type + ") == " + std::to_string(size) +
           (is_fixed_string(element) ? " && sizeof((*(" + c_type + " *)0)[0]) == 1" : "");
  }
  auto kind = kinds.find(c_type == "char" ? '8' : element[0]); // a char is a byte, with a sign or without
  std::string test = kind == kinds.end() ? "" : kind->second;
  for (size_t at = test.find('#'); at != test.npos; at = test.find('#')) {
    test.replace(at, 1, c_type);
  }
  return "sizeof(" + c_type + ") == " + std::to_string(size_of(element)) + test;
}

// The types of the configuration are compared with C's, when the source is compiled; of structs, every field.
void emit_type_checks(writer &out, const module_model &model) {
  for (const auto &[name, map] : model.used_types) {
    std::string message = ", \"typemaps: " + name + " is not " + map.element + "\");";
    if (is_scalar_type(map.element)) {
      out.line("_Static_assert(" + type_test(name, map.element) + message);
      continue;
    }
    struct_layout layout = read_struct(map.element, map.at);
    out.line("_Static_assert(sizeof(" + name + ") == " + std::to_string(layout.size) + message);
    for (const struct_field &f : layout.fields) {
      std::string field = "__typeof__(((" + name + " *)0)->" + f.path + ")";
      out.line("_Static_assert(offsetof(" + name + ", " + f.path + ") == " + std::to_string(f.offset) + " && " +
               type_test(field, f.element) + message);
    }
  }
  out.blank();
}

// The functions as the configuration declares them. A header, or code, that declares them otherwise is an error of the
// compiler; a macro is what it is.
void emit_declarations(writer &out, const module_model &model) {
  std::set<std::string> declared;
  bool may_be_macro = !model.includes.empty() || !model.header_code.empty();
  out.line("/* The functions; the compiler compares this with what headers say. */");
  for (const kernel &k : model.kernels) {
    for (const overload &o : k.overloads) {
      for (const variant &v : o.variants) {
        if (!declared.insert(v.function.text()).second) {
          continue;
        }
        out.raw(may_be_macro ? "#ifndef " + v.function.name + "\n" : "");
        out.line(v.function.text() + ";");
        out.raw(may_be_macro ? "#endif\n" : "");
      }
    }
  }
  out.blank();
}

void emit_head(writer &out, const module_model &model) {
  out.line("/* Written by dynd-kernelgen from the configuration of " + model.name + ": change that instead." +
           (model.prefix.empty() ? "" : " Names begin with " + model.prefix + ".") + " */");
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
      emit_overload(out, k, o);
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
