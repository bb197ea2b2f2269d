#include "elf/linking.h"

#include <elf.h>

#include <algorithm>
#include <utility>

#include "elf/dynamic.h"
#include "elf/machine.h"

#ifndef DT_RELR  // glibc has them since 2.36
#define DT_RELRSZ 35
#define DT_RELR 36
#endif

namespace tasuki::elf {
namespace {

class Reader {
 public:
  Reader(const ByteSource& file, const Image& image, Dynamic dynamic)
      : file_(file), image_(image), dynamic_(std::move(dynamic)) {}
  Result<Linking> read();

 private:
  Status read_code();
  Status read_search_path();
  Status count_symbols(uint64_t* count) const;
  Status count_hashed(uint64_t table, uint64_t* count) const;
  Status read_symbols();
  Status read_symbol(const Elf64_Sym& s, Symbol* symbol) const;
  Status read_relocations(uint64_t address, uint64_t size);
  Status read_relative(uint64_t address, uint64_t size);
  Status read_unwind_header();

  bool bytes_at(uint64_t address, void* to, uint64_t size) const {
    uint64_t offset;
    return image_.file_offset(address, size, &offset) && file_.read(offset, to, size);
  }
  template <typename T>
  bool value_at(uint64_t address, T* value) const {
    return bytes_at(address, value, sizeof *value);
  }
  // A table of `size` bytes; false, too, if that is no whole number of entries.
  template <typename T>
  bool table_at(uint64_t address, uint64_t size, std::vector<T>* table) const {
    uint64_t offset;
    if (size % sizeof(T) != 0 || !image_.file_offset(address, size, &offset)) return false;
    table->resize(size / sizeof(T));
    return file_.read(offset, table->data(), size);
  }

  const ByteSource& file_;
  const Image& image_;
  Dynamic dynamic_;
  Linking linking_;
};

Status Reader::read_code() {
  linking_.init = dynamic_.value(DT_INIT);
  linking_.fini = dynamic_.value(DT_FINI);
  linking_.preinit_array = {dynamic_.value(DT_PREINIT_ARRAY), dynamic_.value(DT_PREINIT_ARRAYSZ)};
  linking_.init_array = {dynamic_.value(DT_INIT_ARRAY), dynamic_.value(DT_INIT_ARRAYSZ)};
  linking_.fini_array = {dynamic_.value(DT_FINI_ARRAY), dynamic_.value(DT_FINI_ARRAYSZ)};
  for (const Range& array : {linking_.preinit_array, linking_.init_array, linking_.fini_array})
    if (array.size % 8 != 0 || (array.size != 0 && !image_.holds(array.address, array.size, false)))
      return corrupt("constructors outside the segments");
  for (const uint64_t code : {linking_.init, linking_.fini, image_.entry})
    if (code != 0 && !image_.holds(code, 1, false)) return corrupt("code outside the segments");
  return {};
}

Status Reader::read_search_path() {
  const uint64_t runpath = dynamic_.value(DT_RUNPATH);
  const uint64_t at = runpath != 0 ? runpath : dynamic_.value(DT_RPATH);
  if (at == 0) return {};
  std::string_view path;
  if (!dynamic_.text(at, &path)) return corrupt("the search path lies outside the string table");
  linking_.search_path = path;
  return {};
}

// Neither hash table says how many symbols there are: DT_HASH has as many chains, DT_GNU_HASH ends with its
// last chain.
Status Reader::count_symbols(uint64_t* count) const {
  *count = 0;
  if (const uint64_t hash = dynamic_.value(DT_HASH); hash != 0) {
    uint32_t head[2];  // buckets, chains
    if (!value_at(hash, &head)) return corrupt("the hash table lies outside the segments");
    *count = head[1];
    return {};
  }
  const uint64_t gnu_hash = dynamic_.value(DT_GNU_HASH);
  return gnu_hash != 0 ? count_hashed(gnu_hash, count) : Status();
}

// DT_GNU_HASH: number of buckets, first symbol that can be found, words of the filter, its shift; then the
// filter, the buckets (each the first symbol of a chain) and a word for each symbol, odd at the end of a
// chain.
Status Reader::count_hashed(uint64_t table, uint64_t* count) const {
  uint32_t head[4];
  if (!value_at(table, &head)) return corrupt("the hash table lies outside the segments");
  const uint64_t first = head[1];
  const uint64_t at = table + sizeof head + uint64_t{head[2]} * 8;
  const uint64_t chains = at + uint64_t{head[0]} * 4;
  std::vector<uint32_t> buckets;
  if (!table_at(at, uint64_t{head[0]} * 4, &buckets))
    return corrupt("the hash table lies outside the segments");
  uint64_t last = 0;
  for (const uint32_t b : buckets) last = std::max<uint64_t>(last, b);
  *count = first;
  if (last < first || last == 0) return {};
  for (;; last++) {
    uint32_t chain;
    if (!value_at(chains + (last - first) * 4, &chain))
      return corrupt("the hash table lies outside the segments");
    if ((chain & 1) != 0) break;
  }
  *count = last + 1;
  return {};
}

Status Reader::read_symbol(const Elf64_Sym& s, Symbol* symbol) const {
  if (!dynamic_.text(s.st_name, &symbol->name))
    return corrupt("a symbol's name lies outside the string table");
  symbol->value = s.st_value;
  symbol->size = s.st_size;
  const int type = ELF64_ST_TYPE(s.st_info), bind = ELF64_ST_BIND(s.st_info);
  symbol->defined = s.st_shndx != SHN_UNDEF && bind != STB_LOCAL && type != STT_TLS;
  symbol->weak = bind == STB_WEAK;
  symbol->resolver = type == STT_GNU_IFUNC;
  if (symbol->defined && s.st_value >= image_.span() && s.st_shndx != SHN_ABS)
    return corrupt("a symbol outside the segments");
  return {};
}

// After the relocations: a hash table need not know of symbols that are only used.
Status Reader::read_symbols() {
  uint64_t found;
  if (const Status status = count_symbols(&found); !status.ok()) return status;
  uint64_t count = found;
  for (const Relocation& r : linking_.relocations)
    if (r.symbol != 0) count = std::max<uint64_t>(count, uint64_t{r.symbol} + 1);
  std::vector<Elf64_Sym> table;
  if (count != 0 && !table_at(dynamic_.value(DT_SYMTAB), count * sizeof(Elf64_Sym), &table))
    return corrupt("symbols outside the segments");
  linking_.symbols.resize(std::max<uint64_t>(count, 1));
  for (uint64_t i = 1; i < count; i++) {
    Symbol& symbol = linking_.symbols[i];
    if (const Status status = read_symbol(table[i], &symbol); !status.ok()) return status;
    if (symbol.defined && i < found) linking_.defined.emplace(symbol.name, static_cast<uint32_t>(i));
  }
  return {};
}

Status Reader::read_relocations(uint64_t address, uint64_t size) {
  if (size == 0) return {};
  std::vector<Elf64_Rela> table;
  if (!table_at(address, size, &table)) return corrupt("relocations outside the segments");
  for (const Elf64_Rela& r : table) {
    const auto type = static_cast<uint32_t>(ELF64_R_TYPE(r.r_info));
    if (type == kNone) continue;
    if (type != kCopy && !image_.holds(r.r_offset, 8, !linking_.text_relocations))
      return corrupt("a relocation outside the data");
    linking_.relocations.push_back(
        {r.r_offset, type, static_cast<uint32_t>(ELF64_R_SYM(r.r_info)), r.r_addend});
  }
  return {};
}

// DT_RELR: an even word is an address, an odd one a bitmap of the 63 words that follow.
Status Reader::read_relative(uint64_t address, uint64_t size) {
  if (size == 0) return {};
  std::vector<uint64_t> table;
  if (!table_at(address, size, &table)) return corrupt("relocations outside the segments");
  uint64_t where = 0;
  const auto add = [&](uint64_t a) {
    int64_t addend;
    if (!value_at(a, &addend) || !image_.holds(a, 8, !linking_.text_relocations)) return false;
    linking_.relocations.push_back({a, kRelative, 0, addend});
    return true;
  };
  for (const uint64_t entry : table) {
    if ((entry & 1) == 0) {
      if (!add(entry)) return corrupt("a relocation outside the data");
      where = entry + 8;
      continue;
    }
    for (uint32_t bit = 0; bit < 63; bit++)
      if ((entry >> (bit + 1) & 1) != 0 && !add(where + bit * 8))
        return corrupt("a relocation outside the data");
    where += 63 * 8;
  }
  return {};
}

// .eh_frame_hdr: version, encodings, then where .eh_frame is: relative to here as gcc and clang write it
// (0x1b).
Status Reader::read_unwind_header() {
  if (!image_.unwind_header) return {};
  struct {
    uint8_t version, frames_encoding, count_encoding, table_encoding;
    int32_t frames;
  } head;
  const uint64_t address = image_.unwind_header->address;
  if (image_.unwind_header->size < sizeof head || !value_at(address, &head))
    return corrupt("the unwind table lies outside the segments");
  if (head.version != 1 || head.frames_encoding != 0x1b) return {};
  const uint64_t table = address + 4 + static_cast<uint64_t>(int64_t{head.frames});
  uint64_t offset;
  if (image_.file_offset(table, 4, &offset)) linking_.unwind_table = table;
  return {};
}

Result<Linking> Reader::read() {
  for (const Elf64_Dyn& e : dynamic_.entries) linking_.text_relocations |= e.d_tag == DT_TEXTREL;
  Status status = read_code();
  if (status.ok()) status = read_search_path();
  if (status.ok()) status = read_relocations(dynamic_.value(DT_RELA), dynamic_.value(DT_RELASZ));
  if (status.ok()) status = read_relocations(dynamic_.value(DT_JMPREL), dynamic_.value(DT_PLTRELSZ));
  if (status.ok()) status = read_relative(dynamic_.value(DT_RELR), dynamic_.value(DT_RELRSZ));
  if (status.ok()) status = read_symbols();
  if (status.ok()) status = read_unwind_header();
  if (!status.ok()) return status;
  linking_.strings =
      std::move(dynamic_.strings);  // where the names are: a vector's elements stay where they are
  return std::move(linking_);
}

}  // namespace

const Symbol* Linking::find(std::string_view name) const {
  const auto i = defined.find(name);
  return i == defined.end() ? nullptr : &symbols[i->second];
}

Result<Linking> read_linking(const ByteSource& file, const Image& image) {
  Result<Dynamic> dynamic = read_dynamic(file, image);
  if (!dynamic.ok()) return dynamic.status();
  return Reader(file, image, std::move(dynamic.value())).read();
}

}  // namespace tasuki::elf
