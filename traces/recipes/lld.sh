# lld links a C++ program of eight generated files with debug information, with eight threads.
# Packages: lld-14 g++
for part in 1 2 3 4 5 6 7 8; do
  {
    printf '#include <algorithm>\n#include <iostream>\n#include <map>\n#include <memory>\n#include <regex>\n#include <string>\n#include <vector>\n'
    for kind in 1 2 3 4 5 6; do
      printf 'struct Kind%s_%s { int number; std::string name; std::map<std::string, std::vector<Kind%s_%s>> parts; };\n' $part $kind $part $kind
      printf 'std::size_t count(const Kind%s_%s &kind) { std::size_t sum = std::regex_match(kind.name, std::regex("[a-%s]+%s")); for (auto &[name, parts] : kind.parts) for (auto &each : parts) sum += name.size() + count(each); return sum; }\n' $part $kind f $kind
    done
    printf 'std::size_t part%s() { return count(Kind%s_1{}) + count(Kind%s_6{}); }\n' $part $part $part
  } > part$part.cc
  g++ -std=c++17 -g -O1 -c part$part.cc
done
{
  for part in 1 2 3 4 5 6 7 8; do printf 'unsigned long part%s();\n' $part; done
  printf 'int main() { return int('
  for part in 1 2 3 4 5 6 7 8; do printf 'part%s() + ' $part; done
  printf '0); }\n'
} > main.cc
g++ -std=c++17 -g -O1 -c main.cc
gcc=$(dirname "$(g++ -print-libgcc-file-name)")
crt=$(dirname "$(g++ -print-file-name=crt1.o)")
$RECORD ld.lld-14 --threads=8 -static --gc-sections --icf=all --gdb-index -O2 -o program \
  "$crt/crt1.o" "$crt/crti.o" "$gcc/crtbeginT.o" main.o part[1-8].o -L"$gcc" -L"$crt" \
  --start-group -lstdc++ -lm -lgcc -lgcc_eh -lc --end-group "$gcc/crtend.o" "$crt/crtn.o"
