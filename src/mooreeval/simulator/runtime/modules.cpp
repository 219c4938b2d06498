// Looks segments up with dl_iterate_phdr and remembers the answers.
#include "modules.h"

#include <link.h>

#include <map>
#include <memory>
#include <vector>

namespace moore_sim {
namespace {

struct Segment {
  Address begin, end;
  bool writable;
  Address module;
};
std::vector<Segment> known_segments;
std::map<Address, std::unique_ptr<Region>> data_regions;  // by first byte

bool contains(const dl_phdr_info& info, Address a) {
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const auto& p = info.dlpi_phdr[i];
    if (p.p_type == PT_LOAD && a - (info.dlpi_addr + p.p_vaddr) < p.p_memsz) return true;
  }
  return false;
}

// What relocation made read-only afterwards (virtual tables, the offset table) lies inside a writable segment.
void add_segments(const dl_phdr_info& info) {
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const auto& p = info.dlpi_phdr[i];
    const Address begin = info.dlpi_addr + p.p_vaddr;
    const Segment segment{begin, begin + p.p_memsz, p.p_type == PT_LOAD && (p.p_flags & PF_W), info.dlpi_addr};
    if (p.p_type == PT_GNU_RELRO)
      known_segments.insert(known_segments.begin(), segment);
    else if (p.p_type == PT_LOAD)
      known_segments.push_back(segment);
  }
}

int visit_module(dl_phdr_info* info, size_t, void* wanted) {
  if (!contains(*info, *static_cast<Address*>(wanted))) return 0;
  add_segments(*info);
  return 1;
}

const Segment* find_known(Address a) {
  for (const Segment& s : known_segments)
    if (a >= s.begin && a < s.end) return &s;
  return nullptr;
}

const Segment* find_segment(Address a) {
  const Segment* known = find_known(a);
  return known || dl_iterate_phdr(visit_module, &a) == 0 ? known : find_known(a);
}

Region* region_of(const Segment& s) {
  auto& region = data_regions[s.begin];
  if (!region) {
    region = std::make_unique<Region>();
    region->base = s.begin & ~Address{15};
    region->bytes = s.end - region->base;
    region->module_data = true;
  }
  return region.get();
}

}  // namespace

ModuleMemory module_memory_at(Address a, Address code, Region** region) {
  const Segment* s = find_segment(a);
  if (!s) return ModuleMemory::NONE;
  if (!s->writable) return ModuleMemory::READ_ONLY;
  const Address module = s->module;
  const Segment* of_code = find_segment(code);  // may move what `s` points to
  if (!of_code || of_code->module != module) return ModuleMemory::NONE;
  *region = region_of(*find_segment(a));
  return ModuleMemory::WRITABLE;
}

}  // namespace moore_sim
