// Decodes DIV and IDIV of 32 and 64 bits, all that compilers emit for int and long.
#include "division.h"

#include <ucontext.h>

#include <cstdint>

namespace moore_sim {

#if defined(__x86_64__)

namespace {

constexpr int REGISTERS[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                               REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

struct Division {
  int length = 0;  // of the instruction; 0: not understood
  bool is_64_bits = false;
  int divisor_register = -1;  // -1: the divisor is in memory
};

// Bytes of the operand that follow the ModRM byte.
int operand_bytes(uint8_t modrm, uint8_t sib) {
  const int mode = modrm >> 6, base = modrm & 7;
  if (mode == 3) return 0;
  const bool has_sib = base == 4;
  const int displacement = mode == 1 ? 1 : mode == 2 ? 4 : base == 5 || (has_sib && (sib & 7) == 5) ? 4 : 0;
  return displacement + has_sib;
}

Division decode(const uint8_t* code) {
  Division d;
  const uint8_t* p = code;
  uint8_t rex = 0;
  if ((*p & 0xF0) == 0x40) rex = *p++;
  if (*p++ != 0xF7) return d;
  const uint8_t modrm = *p++;
  if ((modrm >> 3 & 7) < 6) return d;  // 6: DIV, 7: IDIV
  d.is_64_bits = rex & 8;
  if (modrm >> 6 == 3) d.divisor_register = (modrm & 7) | (rex & 1) << 3;
  d.length = static_cast<int>(p - code) + operand_bytes(modrm, *p);
  return d;
}

}  // namespace

bool finish_division(void* signal_context, bool& by_zero) {
  auto& registers = static_cast<ucontext_t*>(signal_context)->uc_mcontext.gregs;
  const Division d = decode(reinterpret_cast<const uint8_t*>(registers[REG_RIP]));
  if (!d.length) return false;
  const uint64_t mask = d.is_64_bits ? ~uint64_t{0} : 0xFFFFFFFFu;
  const auto divisor =
      d.divisor_register < 0 ? 0 : static_cast<uint64_t>(registers[REGISTERS[d.divisor_register]]) & mask;
  const auto dividend = static_cast<uint64_t>(registers[REG_RAX]) & mask;
  by_zero = divisor == 0;
  registers[REG_RAX] = static_cast<greg_t>(by_zero ? mask : dividend);
  registers[REG_RDX] = static_cast<greg_t>(by_zero ? dividend : 0);
  registers[REG_RIP] += d.length;
  return true;
}

#else

bool finish_division(void*, bool&) { return false; }  // where integer division does not trap, nothing is to be done

#endif

}  // namespace moore_sim
