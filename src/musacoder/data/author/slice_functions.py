"""Device functions by which threads combine what each has of a slice, and the statements that do it in place."""

from __future__ import annotations

from musacoder.data.author.slices import JOINED, Slices
from musacoder.data.operators import Pass


def joined(one: Pass, a: str, b: str) -> str:
    return f"{a} += {b};" if one.combine == "sum" else f"{a} = {JOINED[one.combine].format(a=a, b=b)};"


def _is_mixed(stage: Slices) -> bool:
    return len({p.combine for p in stage.operator.passes}) > 1


def _join_function(stage: Slices, one: Pass) -> tuple[str, str, str]:
    """(parameter, argument, expression of a and b) of functions that combine; one function serves two ways."""
    if not _is_mixed(stage):
        return "", "", JOINED[one.combine]
    other = next(p.combine for p in stage.operator.passes if p.combine != "sum")
    if not any(p.combine == "sum" for p in stage.operator.passes):
        return ", bool top", f", {str(one.combine == 'max').lower()}", "top ? fmaxf({a}, {b}) : fminf({a}, {b})"
    flag = str(one.combine == "sum").lower()
    return ", bool add", f", {flag}", f"add ? {{a}} + {{b}} : {JOINED[other]}"


def _assigned(a: str, join: str, b: str) -> str:
    return f"{a} += {b};" if join == JOINED["sum"] else f"{a} = {join.format(a=a, b=b)};"


def _function_name(stage: Slices, scope: str) -> str:
    combine = stage.operator.passes[0].combine
    return f"{scope}_reduce" if _is_mixed(stage) else f"{scope}_{combine}"


def tree_function(stage: Slices, block: int, one: Pass) -> str:
    parameter, argument, join = _join_function(stage, one)
    name = _function_name(stage, "block")
    stage.source.function("\n".join([
        f"__device__ float {name}(float v{parameter}) {{",
        f"    __shared__ float buf[{block}];",
        "    int tid = threadIdx.x;",
        "    buf[tid] = v;",
        "    __syncthreads();",
        f"    for (int k = {block // 2}; k > 0; k /= 2) {{",
        f"        if (tid < k) buf[tid] = {join.format(a='buf[tid]', b='buf[tid + k]')};",
        "        __syncthreads();",
        "    }",
        "    v = buf[0];",
        "    __syncthreads();",
        "    return v;",
        "}",
    ]))  # fmt: skip
    return f"{name}({one.name}{argument})"


def warp_function(stage: Slices, one: Pass) -> str:
    parameter, argument, join = _join_function(stage, one)
    name = _function_name(stage, "warp")
    other = "__shfl_xor_sync(0xffffffff, v, k)"
    body = [_assigned("v", join, other)]
    if "top" in parameter or "add" in parameter:
        body = [f"float u = {other};", f"v = {join.format(a='v', b='u')};"]
    loop = "for (int k = 16; k > 0; k /= 2)"
    lines = (
        [f"    {loop} {body[0]}"] if len(body) == 1 else [f"    {loop} {{", *(f"        {b}" for b in body), "    }"]
    )
    text = [f"__device__ float {name}(float v{parameter}) {{", *lines, "    return v;", "}"]
    stage.source.function("\n".join(text))
    return f"{name}({one.name}{argument})"


def shuffle_function(stage: Slices, block: int, one: Pass) -> str:
    warp_function(stage, one)
    parameter, argument, join = _join_function(stage, one)
    name, warp = _function_name(stage, "block"), _function_name(stage, "warp")
    passed = parameter.replace(", bool", ",")
    first = "part[0]"
    stage.source.function("\n".join([
        f"__device__ float {name}(float v{parameter}) {{",
        f"    __shared__ float part[{block // 32}];",
        f"    v = {warp}(v{passed});",
        "    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;",
        "    __syncthreads();",
        f"    v = {first};",
        f"    for (int k = 1; k < {block // 32}; k++) {_assigned('v', join, 'part[k]')}",
        "    __syncthreads();",
        "    return v;",
        "}",
    ]))  # fmt: skip
    return f"{name}({one.name}{argument})"
