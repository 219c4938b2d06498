import re

import pytest

from mooreeval.gallery import load
from mooreeval.verdict import Status
from musacoder.data.author import rewrite, write
from musacoder.data.operators import FAMILIES
from musacoder.data.structure import Structure, similarity, structure_of

_CODES = {f"{e.task_name}/{e.candidate_name}": e.candidate_path.read_text(encoding="utf-8") for e in load()}
_CORRECT = sorted(
    f"{e.task_name}/{e.candidate_name}"
    for e in load()
    if e.expected.status is Status.CORRECT and e.candidate_name != "host_loop"
)
_RENAMED = {
    "matmul/tiled": """matmul_tiled=product As=left Bs=right TILE=EDGE acc=sum ak=from_a bk=from_b A=first B=second
        C=third M=rows K=inner N=columns matmul_cuda=run_product cuda_source=text matmul_ext=built row=r col=c""",
    "matmul/register_blocked": """gemm_blocked=kernel BM=TILE_M BN=TILE_N BK=TILE_K TM=OWN_M TN=OWN_N a_tile=sa
        b_tile=sb acc=own fa=ra fb=rb gemm=product gemm_ext=module k0=base m0=top n0=left grid=blocks""",
    "relu/float4_with_tail": """relu_vec4=clamp4 x4=in4 out4=to4 n4=quads tail=rest relu_forward=run ops=built
        threads=per_block""",
    "relu/grid_stride": "relu_grid_stride=clamp module=built source=text count=most step=jump",
    "row_softmax/warp_per_row": "lane=me row=line",
    "layer_norm/dispatch_template": """block_sum=add_up THREADS=WIDTH partial=parts layer_norm_kernel=normalise
        out=to in=from gamma=scale_w beta=shift features=width mean=average layer_norm_ext=built layer_norm=run""",
    "linear_gelu/two_extensions": """linear_kernel=dot_kernel gelu_kernel=act_kernel gelu=act gelu_=act_ linear_ext=one
        gelu_ext=two""",
    "cross_entropy/two_kernels": "rows=lines",
}


def _renamed(code: str, pairs: str) -> str:
    names = dict(pair.split("=") for pair in pairs.split())
    return re.sub(r"(?<![\w.])[A-Za-z_]\w*|(?<=\.)[A-Za-z_]\w*", lambda m: names.get(m[0], m[0]), code)


def _laid_out_anew(code: str) -> str:
    """Lines of the C++ get a comment each and other blanks, statements on one line are put on two."""
    start, end = code.index("#include"), code.index('"""', code.index("#include"))
    lines = code[start:end].split("\n")
    changed = [line if line.lstrip().startswith("#") else f"  {line}   // a remark" for line in lines]
    changed = [f"/* {i} */ {line}" if not line.lstrip().startswith("#") else line for i, line in enumerate(changed)]
    return code[:start] + "\n\n".join(changed) + code[end:]


def _key(code: str) -> str:
    return structure_of(code).cluster_key


@pytest.mark.parametrize("name", sorted(_RENAMED))
def test_a_renamed_program_is_in_the_same_cluster_and_a_duplicate(name: str) -> None:
    code, renamed = _CODES[name], _renamed(_CODES[name], _RENAMED[name])
    assert renamed != code
    assert _key(renamed) == _key(code)
    assert structure_of(renamed).normalised == structure_of(code).normalised


@pytest.mark.parametrize("name", _CORRECT)
def test_comments_and_layout_change_nothing(name: str) -> None:
    changed = structure_of(_laid_out_anew(_CODES[name]))
    assert changed == structure_of(_CODES[name])
    assert changed.is_whole


def test_other_values_of_literals_are_near_duplicates() -> None:
    code = _CODES["linear_gelu/wrong_constant"]
    other = re.sub(r"\b0\.\d+f?", "0.125f", code)
    assert other != code
    assert structure_of(other).normalised == structure_of(code).normalised


def _edited(name: str, *edits: tuple[str, str]) -> str:
    code = _CODES[name]
    for before, after in edits:
        assert before in code
        code = code.replace(before, after)
    return code


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(
            _CODES["matmul/tiled"], _edited("matmul/tiled", ("#define TILE 16", "#define TILE 32")), id="tile of 32"
        ),
        pytest.param(
            _CODES["matmul/tiled"], _edited("matmul/tiled", ("[TILE + 1]", "[TILE]")), id="tile without padding"
        ),
        pytest.param(
            _CODES["matmul/register_blocked"],
            _edited("matmul/register_blocked", ("TM = 4, TN = 4", "TM = 4, TN = 2")),
            id="register tile",
        ),
        pytest.param(
            _CODES["relu/float4_with_tail"],
            _edited("relu/float4_with_tail", ("float4", "float2"), ("n / 4", "n / 2"), ("n4 * 4", "n4 * 2")),
            id="vector width",
        ),
        pytest.param(_CODES["row_softmax/warp_per_row"], _CODES["row_softmax/block_per_row"], id="reduction"),
        pytest.param(_CODES["relu/plain"], _CODES["relu/grid_stride"], id="grid stride"),
        pytest.param(_CODES["relu/plain"], _edited("relu/plain", ("256", "64")), id="block size"),
        pytest.param(_CODES["linear_gelu/two_extensions"], _CODES["linear_gelu/wrong_constant"], id="fusion"),
        pytest.param(
            _CODES["relu/grid_stride"],
            _edited("relu/grid_stride", ("<<<40", "<<<(in.numel() + 191) / 192")),
            id="grid",
        ),
    ],
)
def test_another_way_to_compute_is_another_cluster(one: str, other: str) -> None:
    assert _key(one) != _key(other)


def test_correct_ways_of_one_task_are_clusters_of_their_own() -> None:
    keys = [_key(_CODES[name]) for name in _CORRECT]
    assert len(set(keys)) == len(keys)


def test_a_structure_tells_geometry_memory_and_fusion() -> None:
    found = structure_of(_CODES["matmul/register_blocked"])
    assert found.memory == ("registers 4", "registers 4x4", "shared 8x32")
    (launch,) = found.launches
    assert (launch.grid, launch.block_dimensions, launch.block) == (("ceil", "ceil"), 1, "to 128")
    assert not launch.dynamic_shared
    assert not launch.repeated
    assert structure_of(_CODES["linear_gelu/two_extensions"]).launches_per_forward == 2
    assert structure_of(_CODES["row_softmax/block_per_row"]).launches[0].dynamic_shared


def test_a_launch_is_counted_each_time_forward_calls_it() -> None:
    code = _CODES["relu/plain"]
    twice = re.sub(r"return (\w+(?:\.\w+)*)\((\w+)\)\s*$", r"return \1(\1(\2))", code)
    assert twice != code
    assert structure_of(twice).launches_per_forward == 2 * structure_of(code).launches_per_forward
    assert structure_of(twice).kernels == structure_of(code).kernels


def test_a_source_put_together_from_parts_is_the_source() -> None:
    code = _CODES["matmul/tiled"]
    parts = code.replace("#define TILE 16", "#define TILE {edge}").replace(
        'cuda_source = """', 'edge = 16\npattern = """'
    )
    parts = parts.replace(
        "\nmatmul_ext = load_inline", '\ncuda_source = pattern.replace("{edge}", "16")\nmatmul_ext = load_inline'
    )
    assert _key(parts) == _key(code)


def test_similarity_is_whole_for_duplicates_and_small_for_strangers() -> None:
    one = structure_of(_CODES["matmul/tiled"])
    assert similarity(one, structure_of(_renamed(_CODES["matmul/tiled"], _RENAMED["matmul/tiled"]))) == 1
    near = similarity(one, structure_of(_CODES["matmul/tile_overwritten"]))
    far = similarity(one, structure_of(_CODES["histogram/shared_atomics"]))
    assert 0 <= far < 0.3 < near < 1


@pytest.mark.parametrize(
    "text", ["", "class ModelNew(:", "\0", "x = '__global__ void k( {{{'", "def f(): pass", "((((" * 5000]
)
def test_any_text_has_a_structure(text: str) -> None:
    found = structure_of(text)
    assert isinstance(found, Structure)
    assert found == structure_of(text)
    assert len(found.cluster_key) == 64


@pytest.mark.parametrize("family", FAMILIES)
def test_the_authors_programs_are_read_whole_and_their_launches_found(family: str) -> None:
    found = structure_of(write(1, family=family, length=1).candidate_code)
    assert found.is_whole
    assert found.launches
    assert all(launch.block != "too many" for launch in found.launches)


def test_an_authors_ways_to_one_task_are_several_clusters() -> None:
    task = write(3, family="matmul", length=1)
    found = [structure_of(rewrite(task, seed).candidate_code) for seed in range(12)]
    assert len({each.cluster_key for each in found}) >= 6


def test_a_size_of_the_task_makes_no_cluster_be_it_read_or_written_down() -> None:
    code = _CODES["relu/plain"]
    written = re.sub(r"= (\w+\.numel\(\))", "= 196608", code)
    assert written != code
    assert _key(written) == _key(code)
