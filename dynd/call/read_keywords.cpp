#include "dynd/call/read_keywords.h"

#include <algorithm>
#include <cstring>

#include "dynd/array/cursor.h"
#include "dynd/base/errors.h"
#include "dynd/eval/evaluate.h"
#include "dynd/ops/parse.h"
#include "dynd/type/lexer.h"

namespace dynd::nd {

namespace {

// The default of a keyword, from its canonical text.
void read_default(const type_field &f, keyword_values::value &to) {
  std::string_view text = f.value;
  const type_data *t = without_option(f.type);
  if (f.type->kind == type_kind::option && text == "None") {
    to.missing = true;
  } else if (t->kind == type_kind::string) {
    to.is_text = true;
    to.text = unquoted_text(text);
  } else {
    parse_scalar(text, t->scalar, error_mode::nocheck, to.number); // it was read when the signature was
  }
}

void read_given(const kernel &k, const type_field &f, const array &given, keyword_values::value &to) {
  auto wrong = [&](const std::string &why) {
    fail(error_kind::type, std::string(k->name) + ": keyword " + f.name + " " + why);
  };
  if (!given || given.ndim() != 0) {
    wrong("is one value, not " + (given ? std::string(given.type().str()) : "nothing"));
  }
  const type_data *t = without_option(f.type);
  const type_data *own = given->type->dtype;
  materialize(given.get());
  if (own->kind == type_kind::option) {
    to.missing = given->streams()[0].address[0] == 0;
    if (to.missing && f.type->kind != type_kind::option) {
      wrong("is missing, and its type is " + std::string(f.type->text));
    }
    own = own->element;
  }
  own = own->kind == type_kind::byteswap ? own->element : own;
  bool text = t->kind == type_kind::string;
  if (!to.missing && (text ? own->kind != type_kind::string : own->kind != type_kind::scalar)) {
    wrong("is " + std::string(own->text) + ", not " + f.type->text);
  }
  if (to.missing) {
    return;
  }
  bool to_bool = !text && t->scalar == scalar_id::bool_, from_bool = !text && own->scalar == scalar_id::bool_;
  if (!text && to_bool != from_bool) {
    wrong("is " + std::string(own->text) + ", not " + f.type->text);
  }
  if (text) {
    to.is_text = true;
    array plain(copy_values(given.get(), access_mode::immutable, ndt::make_string()));
    char *room[2];
    to.text = cursor(*plain.get(), room).text();
    if (to.text.find('\0') != to.text.npos) {
      wrong("has a zero byte, and the kernel gets text that ends with one");
    }
    return;
  }
  try {
    array converted(copy_values(given.get(), access_mode::immutable, ndt::type(t)));
    std::memcpy(to.number, converted->values().address, converted->item_size());
  } catch (const error &e) {
    fail(e.kind(), std::string(k->name) + ": keyword " + f.name + ": " + e.what());
  }
}

} // namespace

std::shared_ptr<const keyword_values> read_keywords(const overload &o, std::span<const keyword> given) {
  const std::vector<type_field> &all = o.signature.keywords;
  for (const keyword &k : given) {
    if (std::none_of(all.begin(), all.end(), [&](const type_field &f) { return k.name == f.name; })) {
      fail(error_kind::type, std::string(o.function->name) + ": has no keyword " + k.name + "; it is " +
                                 std::string(o.signature.type.str()));
    }
  }
  auto made = std::make_shared<keyword_values>();
  for (const type_field &f : all) {
    keyword_values::value value;
    value.name = f.name;
    value.type = f.type->text;
    auto own = std::find_if(given.begin(), given.end(), [&](const keyword &k) { return k.name == f.name; });
    if (own != given.end()) {
      read_given(o.function, f, own->value, value);
    } else if (f.value) {
      read_default(f, value);
    } else {
      fail(error_kind::type, std::string(o.function->name) + ": keyword " + f.name + " is missing; it has no default");
    }
    made->all.push_back(std::move(value));
  }
  return made;
}

} // namespace dynd::nd
