#include "rules.h"

#include <unordered_map>
#include <unordered_set>

namespace moore_device {
namespace {

using Names = std::unordered_set<std::string>;

bool starts_with(const std::string& text, const char* prefix) { return text.rfind(prefix, 0) == 0; }

const Names kWhole = {
    "aten::_convolution", "aten::convolution", "aten::convolution_backward", "aten::copy_", "aten::conv_tbc",
};

const Names kChoosing = {
    "aten::lstm",          "aten::gru",           "aten::rnn_tanh",      "aten::rnn_relu",
    "aten::lstm_cell",     "aten::gru_cell",      "aten::rnn_tanh_cell", "aten::rnn_relu_cell",
    "aten::scaled_dot_product_attention", "aten::_fused_rms_norm",
};

// "*": any argument. Zero-dimensional CPU tensors are welcome everywhere and need no entry.
const std::unordered_map<std::string, Names> kHostArguments = {
    {"aten::copy_", {"*"}},
    {"aten::_foreach_copy_", {"*"}},
    {"aten::index", {"indices"}},
    {"aten::_unsafe_index", {"indices"}},
    {"aten::_index_put_impl_", {"indices"}},
    {"aten::index_put_", {"indices"}},
    {"aten::lstm", {"batch_sizes"}},
    {"aten::gru", {"batch_sizes"}},
    {"aten::rnn_tanh", {"batch_sizes"}},
    {"aten::rnn_relu", {"batch_sizes"}},
    {"aten::_ctc_loss", {"input_lengths", "target_lengths"}},
    {"aten::_foreach_addcmul", {"scalars"}},
    {"aten::_foreach_addcmul_", {"scalars"}},
    {"aten::_foreach_addcdiv", {"scalars"}},
    {"aten::_foreach_addcdiv_", {"scalars"}},
};

}  // namespace

bool is_foreign_namespace(const c10::OperatorName& name) {
  for (const char* prefix : {"c10d", "_c10d", "_dtensor", "profiler", "symm_mem", "debug_mode_ops", "rngprims"})
    if (starts_with(name.name, prefix)) return true;
  return starts_with(name.name, "aten::_test_");
}

bool runs_as_a_whole(const c10::OperatorName& name) {
  return starts_with(name.name, "aten::_foreach_") || starts_with(name.name, "aten::_fused_") ||
         kWhole.count(name.name) > 0;
}

bool chooses_by_device(const c10::OperatorName& name) { return kChoosing.count(name.name) > 0; }

bool may_be_on_host(const std::string& op, const std::string& argument) {
  auto found = kHostArguments.find(op);
  return found != kHostArguments.end() && (found->second.count("*") > 0 || found->second.count(argument) > 0);
}

}  // namespace moore_device
