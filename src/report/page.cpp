#include "report/page.h"

#include "report/json.h"

namespace tasuki::report {

extern const char page_html[], style_css[], base_js[];

namespace {

// JSON inside <script>: '<' occurs in strings only, and none may end the element or begin a comment.
std::string for_script(const std::string& json) {
  std::string out;
  out.reserve(json.size());
  for (const char c : json) {
    if (c == '<')
      out += "\\u003c";
    else
      out += c;
  }
  return out;
}

std::string notes(const Page& page) {
  std::string out;
  for (const std::string& note : page.notes) out += "<p class=\"note\">" + escaped(note) + "</p>\n";
  return out;
}

std::string facts(const Page& page) {
  std::string out;
  for (const Facts& f : page.facts) {
    out += "<section><h2>" + escaped(f.title) + "</h2>\n<dl class=\"facts\">\n";
    for (const auto& [name, value] : f.rows)
      out += "<dt>" + escaped(name) + "</dt><dd>" + escaped(value) + "</dd>\n";
    out += "</dl></section>\n";
  }
  return out;
}

std::string numbers(const Page& page) {
  if (page.numbers.empty()) return "";
  return "<details><summary>The numbers as tables</summary><pre>" + escaped(page.numbers) +
         "</pre></details>\n";
}

std::string value_of(std::string_view name, const Page& page) {
  if (name == "title") return escaped(page.title);
  if (name == "lead") return escaped(page.lead);
  if (name == "notes") return notes(page);
  if (name == "facts") return facts(page);
  if (name == "numbers") return numbers(page);
  if (name == "style") return style_css;
  if (name == "data") return for_script(page.data);
  std::string scripts = base_js;
  for (const char* script : page.scripts) scripts += script;
  return scripts;
}

}  // namespace

std::string page(const Page& page) {
  std::string out;
  std::string_view rest = page_html;  // with marks {{name}}; what takes their place is not looked at again
  for (size_t begin = 0; (begin = rest.find("{{")) != rest.npos;) {
    const size_t end = rest.find("}}", begin);
    out += rest.substr(0, begin);
    out += value_of(rest.substr(begin + 2, end - begin - 2), page);
    rest.remove_prefix(end + 2);
  }
  return out += rest;
}

std::string escaped(std::string_view plain) {
  std::string out;
  for (const char c : plain) {
    if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '&')
      out += "&amp;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

}  // namespace tasuki::report
