// The race detector, and reads of shared memory that nobody wrote.
#pragma once
#include "check.h"
#include "shadow.h"

namespace moore_sim::races {

// What kind of memory a word belongs to, for the message and for how far back accesses conflict.
struct Memory {
  ShadowWord* words;
  Address base;    // of words[0]; a multiple of four
  uint32_t since;  // accesses dated before it are of another launch or block
  Address start;   // of the allocation or variable, for the message
  size_t bytes;    // 0: a __device__ variable, whose own size is not known
};

void begin_launch();
void track(const Memory& memory, Address address, size_t bytes, check::Kind kind, Address pc);
// Tells of two writes at one place once the second has been done and the values can be compared.
void settle_write();
// Tells of plain reads of atomically updated memory; when the running thread is about to be left.
void settle_reads();

}  // namespace moore_sim::races
