#include "base/bytes.h"

#include <gtest/gtest.h>

namespace tasuki {
namespace {

constexpr uint64_t kUntouched = 77;

uint64_t read(std::string_view text, ByteUnits units) {
  uint64_t v = kUntouched;
  return parse_bytes(text, units, &v) ? v : kUntouched;
}

void refused(std::string_view text, ByteUnits units) {
  uint64_t v = kUntouched;
  EXPECT_FALSE(parse_bytes(text, units, &v)) << text;
  EXPECT_EQ(v, kUntouched) << text;
}

TEST(Bytes, SettingsAreBinary) {
  EXPECT_EQ(read("4096", ByteUnits::binary), 4096u);
  EXPECT_EQ(read("0", ByteUnits::binary), 0u);
  EXPECT_EQ(read("12B", ByteUnits::binary), 12u);
  EXPECT_EQ(read("4K", ByteUnits::binary), 4096u);
  EXPECT_EQ(read("64KiB", ByteUnits::binary), 65536u);
  EXPECT_EQ(read("64KB", ByteUnits::binary), 65536u);
  EXPECT_EQ(read("2MB", ByteUnits::binary), 2u << 20);
  EXPECT_EQ(read("3T", ByteUnits::binary), uint64_t{3} << 40);
  EXPECT_EQ(read("18446744073709551615", ByteUnits::binary), UINT64_MAX);
  EXPECT_EQ(read("16777215TiB", ByteUnits::binary), uint64_t{16777215} << 40);
  for (const char* bad : {"", "K", "-1", "4X", "4KiBs", "4Ki", "4kB", "99999999999999999999", "99999999999T",
                          "16777216TiB", "1.5K", "1e3", "4 KiB", " 4K", "4K "})
    refused(bad, ByteUnits::binary);
}

TEST(Bytes, MachinesHaveTheUnitsOfTheStandard) {
  EXPECT_EQ(read("4096", ByteUnits::standard), 4096u);
  EXPECT_EQ(read("0", ByteUnits::standard), 0u);
  EXPECT_EQ(read("64KiB", ByteUnits::standard), 65536u);
  EXPECT_EQ(read(" 2 \tKiB ", ByteUnits::standard), 2048u);
  EXPECT_EQ(read("64KB", ByteUnits::standard), 64000u);
  EXPECT_EQ(read("64 kB", ByteUnits::standard), 64000u);
  EXPECT_EQ(read("2MB", ByteUnits::standard), 2000000u);
  EXPECT_EQ(read("1 TB", ByteUnits::standard), 1000000000000u);
  EXPECT_EQ(read("1.5 KiB", ByteUnits::standard), 1536u);
  EXPECT_EQ(read("0.9765625KiB", ByteUnits::standard), 1000u);
  EXPECT_EQ(read(".5 KB", ByteUnits::standard), 500u);
  EXPECT_EQ(read("5. B", ByteUnits::standard), 5u);
  EXPECT_EQ(read("1e3", ByteUnits::standard), 1000u);
  EXPECT_EQ(read("1.5E+3 KB", ByteUnits::standard), 1500000u);
  EXPECT_EQ(read("15e-1 KB", ByteUnits::standard), 1500u);
  EXPECT_EQ(read("0e400", ByteUnits::standard), 0u);
  EXPECT_EQ(read("9e18", ByteUnits::standard), 9000000000000000000u);
  for (const char* bad : {"",
                          " ",
                          ".",
                          "KiB",
                          "-1",
                          "+1",
                          "4X",
                          "4K",
                          "4kiB",
                          "4 Ki",
                          "1.5",
                          "0.1 KiB",
                          "1e400",
                          "1e",
                          "1e99999",
                          "1..5 KB",
                          "20EB",
                          "99999999999999999999",
                          "99999999999 TiB",
                          "nan",
                          "inf",
                          "1 2"})
    refused(bad, ByteUnits::standard);
}

TEST(Bytes, RoundedForSentences) {
  EXPECT_EQ(bytes_text(0, BytesStyle::rounded), "0 B");
  EXPECT_EQ(bytes_text(1023, BytesStyle::rounded), "1023 B");
  EXPECT_EQ(bytes_text(1024, BytesStyle::rounded), "1.0 KiB");
  EXPECT_EQ(bytes_text(uint64_t{47} << 29, BytesStyle::rounded), "23.5 GiB");
  EXPECT_EQ(bytes_text(uint64_t{512} << 20, BytesStyle::rounded), "512 MiB");
  EXPECT_EQ(bytes_text(UINT64_MAX, BytesStyle::rounded), "16.0 EiB");
}

TEST(Bytes, MebibytesForFigures) {
  EXPECT_EQ(bytes_text(0, BytesStyle::mebibytes), "0.0 MiB");
  EXPECT_EQ(bytes_text(1 << 19, BytesStyle::mebibytes), "0.5 MiB");
  EXPECT_EQ(bytes_text(uint64_t{2} << 30, BytesStyle::mebibytes), "2048.0 MiB");
}

TEST(Bytes, ExactTextsLoseNothing) {
  EXPECT_EQ(bytes_text(0, BytesStyle::exact), "0 B");
  EXPECT_EQ(bytes_text(1000, BytesStyle::exact), "1000 B");
  EXPECT_EQ(bytes_text(65536, BytesStyle::exact), "64 KiB");
  EXPECT_EQ(bytes_text(65537, BytesStyle::exact), "65537 B");
  EXPECT_EQ(bytes_text(65536, BytesStyle::compact), "64KiB");
  EXPECT_EQ(bytes_text(1000, BytesStyle::compact), "1000B");
  EXPECT_EQ(bytes_text(1000, BytesStyle::prefix), "1000");
  EXPECT_EQ(bytes_text(65536, BytesStyle::prefix), "64Ki");
  EXPECT_EQ(bytes_text(3 << 20, BytesStyle::prefix), "3Mi");
}

TEST(Bytes, WhatIsWrittenIsRead) {
  for (const uint64_t bytes : {uint64_t{0}, uint64_t{1}, uint64_t{1000}, uint64_t{4096}, uint64_t{3} << 30,
                               uint64_t{5} << 40, uint64_t{1} << 63, UINT64_MAX})
    for (const ByteUnits units : {ByteUnits::binary, ByteUnits::standard}) {
      uint64_t again = kUntouched;
      EXPECT_TRUE(parse_bytes(bytes_text(bytes, BytesStyle::compact), units, &again)) << bytes;
      EXPECT_EQ(again, bytes);
    }
}

}  // namespace
}  // namespace tasuki
