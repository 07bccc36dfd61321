#include "kernelgen/source.h"

#include <cctype>
#include <fstream>

namespace kernelgen {

problem::problem(place at_, const std::string &message_)
    : std::runtime_error(show(at_, "error", message_)), at(at_), message(message_) {}

std::string show(place at, std::string_view kind, const std::string &message) {
  std::string text;
  if (at.file) {
    text = at.file->path + ":";
    if (at.line > 0) {
      text += std::to_string(at.line) + ":" + std::to_string(at.column) + ":";
    }
    text += " ";
  }
  text += std::string(kind) + ": " + message;
  if (at.file && at.line > 0 && size_t(at.line) <= at.file->lines.size()) {
    std::string number = std::to_string(at.line), margin(number.size(), ' ');
    std::string caret(size_t(std::max(at.column - 1, 0)), ' ');
    const std::string &line = at.file->lines[size_t(at.line - 1)];
    for (size_t i = 0; i < caret.size() && i < line.size(); i++) {
      caret[i] = line[i] == '\t' ? '\t' : ' ';
    }
    text += "\n  " + number + " | " + line + "\n  " + margin + " | " + caret + "^";
  }
  return text;
}

std::unique_ptr<source_file> read_source(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  auto file = std::make_unique<source_file>();
  file->path = path;
  std::string line;
  bool is_open = bool(in) && in.peek() != std::ifstream::traits_type::eof();
  if (!is_open && !std::ifstream(path)) {
    throw problem({}, path + ": the file cannot be read");
  }
  while (is_open && std::getline(in, line)) {
    if (!line.empty() && line.back() == '\r') {
      line.pop_back();
    }
    if (line.find('\0') != line.npos) {
      throw problem({}, path + ": is no text: it has a zero byte in line " + std::to_string(file->lines.size() + 1));
    }
    file->lines.push_back(line);
  }
  return file;
}

std::string trimmed(std::string_view text) {
  size_t begin = text.find_first_not_of(" \t"), end = text.find_last_not_of(" \t");
  return begin == text.npos ? "" : std::string(text.substr(begin, end - begin + 1));
}

std::string lowered(std::string_view text) {
  std::string made(text);
  for (char &c : made) {
    c = char(std::tolower(static_cast<unsigned char>(c)));
  }
  return made;
}

std::string joined(const std::vector<std::string> &parts, std::string_view between) {
  std::string text;
  for (size_t i = 0; i < parts.size(); i++) {
    text += (i ? std::string(between) : "") + parts[i];
  }
  return text;
}

bool is_name(std::string_view text) {
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text[0]))) {
    return false;
  }
  for (char c : text) {
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_') {
      return false;
    }
  }
  return true;
}

std::string quoted_c(std::string_view text) {
  std::string made = "\"";
  for (char c : text) {
    if (c == '\n') {
      made += "\\n";
    } else {
      made += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
    }
  }
  return made + "\"";
}

std::vector<text_line> split_list(const std::vector<text_line> &lines) {
  std::vector<text_line> items;
  int depth = 0;
  char quote = 0;
  text_line item;
  auto finish = [&] {
    item.text = trimmed(item.text);
    if (!item.text.empty()) {
      items.push_back(item);
    }
    item = {};
  };
  for (const text_line &line : lines) {
    for (size_t i = 0; i < line.text.size(); i++) {
      char c = line.text[i];
      bool is_quote = c == '\'' || c == '"' || c == '`';
      if (quote ? c == quote && line.text[i - 1] != '\\' : is_quote) {
        quote = quote ? 0 : c;
      }
      depth += !quote && (c == '(' || c == '[' || c == '{');
      depth -= !quote && (c == ')' || c == ']' || c == '}');
      if (c == ',' && depth <= 0 && !quote) {
        finish();
      } else if (!item.text.empty() || (c != ' ' && c != '\t')) {
        if (item.text.empty()) {
          item.at = {line.at.file, line.at.line, line.at.column + int(i)};
        }
        item.text += c;
      }
    }
    quote = 0; // a text ends with its line
    if (depth <= 0) {
      finish();
    } else {
      item.text += ' ';
    }
  }
  finish();
  return items;
}

} // namespace kernelgen
