// Structs, and texts of a fixed length, as elements: their text in datashape, and where their values are in C.
#include <algorithm>

#include "kernelgen/model.h"

namespace kernelgen {

namespace {

class reader {
public:
  reader(const std::string &text, place at) : tokens_(read_tokens({{text, at}})), text_(text), at_(at) {}

  struct_layout whole() {
    struct_layout made = read_fields(0);
    if (tokens_[next_].kind != token::end) {
      refuse();
    }
    return made;
  }

private:
  [[noreturn]] void refuse() const {
    throw problem(at_, "expected a struct of numbers and texts, `{x: float64, name: fixed_string[16]}`, not `" + text_ +
                           "`");
  }
  void expect(std::string_view sign, bool also = true) {
    if (!also || tokens_[next_].spelling != sign) {
      refuse();
    }
    next_++;
  }

  struct_layout read_fields(int depth) {
    struct_layout made;
    expect("{", depth < 20);
    while (true) {
      std::string name = tokens_[next_].spelling;
      expect(name, tokens_[next_].kind == token::name);
      expect(":");
      struct_layout own = tokens_[next_].spelling == "{" ? read_fields(depth + 1) : read_value();
      size_t begin = (made.size + own.alignment - 1) / own.alignment * own.alignment;
      for (const struct_field &f : own.fields) {
        made.fields.push_back({name + (f.path.empty() ? "" : ".") + f.path, f.element, begin + f.offset});
      }
      made.size = begin + own.size;
      made.alignment = std::max(made.alignment, own.alignment);
      if (tokens_[next_].spelling != ",") {
        break;
      }
      next_++;
    }
    expect("}");
    made.size = (made.size + made.alignment - 1) / made.alignment * made.alignment;
    return made;
  }

  struct_layout read_value() {
    std::string element = tokens_[next_].spelling;
    if (element == "fixed_string" || element == "fixed_bytes") {
      next_++;
      expect("[");
      element += "[" + tokens_[next_].spelling + "]";
      size_t size = fixed_text_size(element);
      expect(tokens_[next_].spelling, size > 0);
      expect("]");
      return {{{"", element, 0}}, size, 1};
    }
    expect(element, is_scalar_type(element));
    size_t size = size_of(element);
    return {{{"", element, 0}}, size, element[0] == 'c' ? size / 2 : size};
  }

  std::vector<token> tokens_;
  size_t next_ = 0;
  const std::string &text_;
  place at_;
};

} // namespace

size_t fixed_text_size(std::string_view element) {
  constexpr size_t most = INT32_MAX;
  size_t open = element.find('['), size = 0;
  std::string_view name = element.substr(0, open);
  if ((name != "fixed_string" && name != "fixed_bytes") || open == element.npos || element.back() != ']') {
    return 0;
  }
  for (char digit : element.substr(open + 1, element.size() - open - 2)) {
    size = 10 * size + size_t(digit - '0');
    if (digit < '0' || digit > '9' || size > most) {
      return 0;
    }
  }
  return size;
}

struct_layout read_struct(const std::string &element, place at) { return reader(element, at).whole(); }

} // namespace kernelgen
