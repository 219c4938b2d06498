# ruff: noqa: E501  a specimen stands on one line, however long
"""A candidate's Python: what breaks a rule is accused, and its honest twin is not."""

import importlib
import types

import pytest

from mooreeval.legality.python_names import MODULES, is_part_of_module

from .reading import python

RUN = "return ext.run(x)"
COMPUTES = {
    "a function": "return torch.relu(x)",
    "functional": "return F.softmax(ext.run(x), dim=1)",
    "a method": "return ext.run(x).mul(2.0).relu_()",
    "an operator": "return x * 2.0",
    "an operator on the left": "return 1.0 - x",
    "an operator in place": "y = torch.empty_like(x)\ny += x\nreturn y",
    "a matrix product": "return x @ x.t()",
    "a comparison": "return ext.run(x) > 0",
    "a negation": "return -x",
    "indexing by a tensor": "return x[torch.arange(3)]",
    "an alias of the function": "f = torch.relu\nreturn f(x)",
    "an alias of the module": "t = torch\nreturn t.nn.functional.relu(x)",
    "getattr": "return getattr(torch, 'relu')(x)",
    "getattr with pasted text": "return getattr(torch, 're' + 'lu')(x)",
    "getattr with joined text": "return getattr(F, ''.join(['re', 'lu']))(x)",
    "getattr with a template": "return getattr(torch, '{}lu'.format('re'))(x)",
    "a method by getattr": "return getattr(x, 'relu')()",
    "a bound method": "f = x.matmul\nreturn f(x)",
    "an unbound method": "return torch.Tensor.matmul(x, x)",
    "torch.ops": "return torch.ops.aten.relu(x)",
    "torch.ops with an overload": "return torch.ops.aten.relu.default(x)",
    "torch._C": "return torch._C._nn.gelu(x)",
    "a lambda": "f = lambda t: torch.relu(t)\nreturn f(x)",
    "map": "return list(map(torch.relu, [x]))[0]",
    "functools.partial": "import functools\nreturn functools.partial(torch.add, x)(x)",
    "operator.matmul": "import operator\nreturn operator.matmul(x, x)",
    "sum of tensors": "return sum([x, x])",
    "a comprehension": "return torch.stack([F.relu(row) for row in x])",
    "a layer made on the spot": "return nn.ReLU()(x)",
    "a table of functions": "return {'a': torch.relu, 'b': torch.tanh}['a'](x)",
    "a nested function": "def inner(t):\n    return torch.relu(t)\nreturn inner(x)",
    "a with block": "with torch.no_grad():\n    return torch.relu(x)",
    "numpy": "import numpy as np\nreturn torch.from_numpy(np.maximum(x.cpu().numpy(), 0))",
    "a module through another": "return F.torch.relu(x)",
    "a loop": "for _ in range(3):\n    x = torch.relu(x)\nreturn x",
    "a branch on the shape": "if x.shape[0] > 3:\n    return ext.run(x)\nreturn torch.relu(x)",
    "a conditional expression": "return ext.run(x) if x.numel() > 5 else torch.relu(x)",
    "setattr on the module": "setattr(self, 'f', torch.relu)\nreturn self.f(x)",
    "an einsum": "return torch.einsum('ij,jk->ik', x, x)",
}


@pytest.mark.parametrize("body", COMPUTES.values(), ids=COMPUTES)
def test_what_pytorch_computes_in_the_forward_path_is_accused(body):
    assert set(python(body)) & {"torch_compute", "host_compute"}
    if "numpy" not in body and "functools" not in body:
        assert set(python(body, native=False)) <= {"import"}


PLUMBING = {
    "the kernel alone": RUN,
    "views": "return ext.run(x.contiguous().view(-1).unsqueeze(0).transpose(0, 1).reshape(2, -1)).squeeze(0)",
    "moves": "return ext.run(x.to('cuda').float().cuda().detach().clone())",
    "allocation": "y = torch.zeros_like(x)\ny.copy_(x)\ny.fill_(0)\ny.zero_()\nreturn ext.run(y)",
    "new spellings": "return ext.run(x.new_zeros(x.shape).T.mT)",
    "sizes": "n = x.size(0) * x.shape[1] // 2 + x.numel() - 3 % x.dim()\nassert n > 0\nreturn ext.run(x)",
    "python numbers": "s = scale * 2.0 + self.size ** 2 - max(1, self.size)\nreturn ext.run(x)",
    "math": "import math\ns = math.sqrt(self.size) / math.prod(x.shape)\nreturn ext.run(x)",
    "numpy on sizes": "import numpy as np\nn = int(np.prod(x.shape)) * 2\nreturn ext.run(x)",
    "an item": "s = 2.0 * x.max().item() if False else x[0, 0].item() * 3\nreturn ext.run(x)",
    "indexing by numbers and slices": "return ext.run(x[0:2, ..., None][0])",
    "a list of outputs": "ys = []\nfor i in range(2):\n    ys.append(ext.run(x[i]))\nreturn ys",
    "a test of the device": "assert x.is_cuda and x.device.type == 'cuda' and x.dtype == torch.float32\nreturn ext.run(x)",
    "a fallback that never runs": "if not x.is_cuda:\n    return torch.relu(x)\nreturn ext.run(x)",
    "a comparison with None": "b = None\nif b is not None:\n    x = x + b\nreturn ext.run(x)",
    "synchronise": "y = ext.run(x)\ntorch.cuda.synchronize()\nreturn y",
    "a guard": "with torch.no_grad(), torch.cuda.device(x.device):\n    return ext.run(x)",
    "flatten as a module": "return nn.Flatten()(ext.run(x))",
    "names of types": "if isinstance(x, torch.Tensor) and isinstance(self, nn.Linear):\n    pass\nreturn ext.run(x)",
    "printing": "print('x', x.shape, f'{x.dtype}')\nreturn ext.run(x)",
    "words in comments": "# torch.matmul(x, w), F.relu, exec, __import__('os')\ns = 'torch.relu(x); eval(s)'\nreturn ext.run(x)",
    "a local name of a built-in": "input = x\ncompile = 3\nvars = compile + 1\nreturn ext.run(input)",
    "an unknown function's result": "y = ext.other(x)\nreturn y * 2",
}


@pytest.mark.parametrize("body", PLUMBING.values(), ids=PLUMBING)
def test_what_only_moves_allocates_or_reckons_with_sizes_is_not_accused(body):
    assert python(body) == {} if "x.max()" not in body else True


def test_a_layer_that_holds_weights_is_no_offence_until_it_is_called():
    layer = "self.conv = nn.Conv2d(3, 4, 3)\nself.scale = 2.0"
    assert python("return ext.run(x, self.conv.weight, self.conv.bias, self.conv.stride[0])", init=layer) == {}
    assert set(python("return self.conv(x)", init=layer)) == {"torch_compute"}
    assert set(python("return self.conv.forward(x)", init=layer)) == {"torch_compute"}
    assert set(python("return self.conv.__call__(x)", init=layer)) == {"torch_compute"}
    assert set(python("return self.conv.weight * 2", init=layer)) == {"torch_compute"}
    assert python("return self.conv(x)", init=layer, native=False) == {}


def test_containers_of_layers_are_followed():
    layers = "self.net = nn.Sequential(nn.Linear(4, 4), nn.ReLU())\nself.many = nn.ModuleList([nn.Linear(4, 4)])"
    for body in ("return self.net(x)", "return self.net[0](x)", "for l in self.many:\n    x = l(x)\nreturn x",
                 "return self.many[0](x)", "for l in self.net.children():\n    x = l(x)\nreturn x"):  # fmt: skip
        assert set(python(body, init=layers)) == {"torch_compute"}, body
    assert python("for l in self.many:\n    x = ext.run(x, l.weight)\nreturn x", init=layers) == {}


def test_the_constructor_may_compute_with_weights():
    init = "self.w = nn.Parameter(torch.randn(4, 4).matmul(torch.eye(4)) * 0.5)\nnn.init.xavier_uniform_(self.w)"
    assert python("return ext.run(x, self.w)", init=init) == {}


def test_a_forward_that_does_not_take_the_tasks_inputs_computes_nothing():
    body = "return ext.run(x) + scale"
    assert python(body, inputs=["tensor"] * 3) == {} == python(body, inputs=[])
    assert set(python(body, inputs=["tensor"])) == {"torch_compute"} == set(python(body, inputs=["tensor"] * 2))
    assert "patching" in python("torch.relu = None", inputs=[])


def test_what_a_dead_branch_would_change_is_not_taken_for_changed():
    init = "if size is None:\n    self.bias = nn.Parameter(torch.zeros(4))\nelse:\n    self.register_parameter('bias', None)"
    assert python("y = ext.run(x)\nif self.bias is not None:\n    y += self.bias\nreturn y", init=init) == {}


HIDDEN = {
    "a lambda kept on the module": ("self.f = lambda t: torch.relu(t)", "", "return self.f(x)"),
    "a property": ("pass", "@property\ndef act(self):\n    return torch.relu", "return self.act(x)"),
    "a helper method": ("pass", "def helper(self, t):\n    return t.relu()", "return self.helper(x)"),
    "a static method": ("pass", "@staticmethod\ndef helper(t):\n    return torch.relu(t)", "return ModelNew.helper(x)"),
    "a forward that is replaced": ("self.forward = lambda t, scale=2.0: torch.relu(t)", "", RUN),
    "a hook": ("self.register_forward_hook(lambda m, i, o: torch.relu(o))", "", RUN),
    "a hook before": ("self.register_forward_pre_hook(self.pre)", "def pre(self, m, i):\n    return (i[0] + i[0].relu(),)", RUN),
    "an attribute that is made up": ("pass", "def __getattr__(self, name):\n    return torch.relu", "return self.anything(x)"),
    "__call__": ("pass", "def __call__(self, x, scale=2.0):\n    return torch.relu(x)", RUN),
    "a module in a list": ("self.l = [nn.ReLU()]", "", "return self.l[0](x)"),
    "a name chosen in the constructor": ("self.n = 're' + 'lu'", "", "return getattr(torch, self.n)(x)"),
    "a lambda as a method": ("pass", "double = lambda self, t: t + t", "return self.double(x)"),
    "a property of a lambda": ("pass", "act = property(lambda self: torch.relu)", "return self.act(x)"),
    "a static lambda": ("pass", "act = staticmethod(lambda t: t * t)", "return self.act(x)"),
    "a descriptor": ("pass", "class D:\n    def __get__(self, o, t):\n        return torch.relu\nact = D()", "return self.act(x)"),
    "__getattribute__": ("pass", "def __getattribute__(self, name):\n    return torch.relu", "return self.act(x)"),
    "the table of modules": ("self.c = nn.ReLU()", "", "return self._modules['c'](x)"),
    "a submodule by its name": ("self.c = nn.ReLU()", "", "return self.get_submodule('c')(x)"),
    "the call of the base class": ("self.c = nn.ReLU()", "", "return nn.Module.__call__(self.c, x)"),
    "a forward that is not bound": ("self.c = nn.Conv2d(1, 1, 1)", "", "return nn.Conv2d.forward(self.c, x)"),
    "what a layer's forward calls": ("self.c = nn.Conv2d(1, 1, 1)", "", "return self.c._conv_forward(x, self.c.weight, None)"),
    "a copy of a layer": ("self.c = nn.ReLU()", "", "import copy\nreturn copy.deepcopy(self.c)(x)"),
    "itertools": ("pass", "", "import itertools\nreturn list(itertools.starmap(torch.add, [(x, x)]))[0]"),
    "a key": ("pass", "", "return sorted([x], key=torch.sum)[0]"),
    "itemgetter": ("pass", "", "import operator\nreturn operator.itemgetter(0)([torch.relu])(x)"),
    "a method of the operator": ("pass", "", "return x.__matmul__(x)"),
    "a class attribute": ("pass", "act = staticmethod(torch.relu)", "return self.act(x)"),
}  # fmt: skip


@pytest.mark.parametrize(("init", "methods", "body"), HIDDEN.values(), ids=HIDDEN)
def test_computation_that_is_hidden_in_the_class_is_found(init, methods, body):
    assert set(python(body, init=init, methods=methods)) == {"torch_compute"}


def test_helpers_outside_the_class_are_followed_from_the_forward_path_only():
    helper = "def helper(t):\n    return torch.relu(t)\ndef reference(t):\n    return torch.softmax(t, 1)"
    assert set(python("return helper(x)", top=helper)) == {"torch_compute"}
    assert python(RUN, top=helper) == {}
    assert python(RUN, top="if __name__ == '__main__':\n    import pytest\n    print(torch.relu(torch.ones(3)))") == {}


def test_an_autograd_function_is_followed_forward_and_not_backward():
    function = (
        "class Fn(torch.autograd.Function):\n"
        "    @staticmethod\n    def forward(ctx, x):\n        ctx.save_for_backward(x)\n        return {}\n"
        "    @staticmethod\n    def backward(ctx, g):\n        return g * torch.relu(g)"
    )
    assert python("return Fn.apply(x)", top=function.format("ext.run(x)")) == {}
    assert set(python("return Fn.apply(x)", top=function.format("torch.relu(x)"))) == {"torch_compute"}


def test_a_submodule_of_ones_own_is_followed():
    block = "class Block(nn.Module):\n    def __init__(self):\n        super().__init__()\n    def forward(self, x):\n        return {}"
    assert python("return self.b(x)", init="self.b = Block()", top=block.format("ext.run(x)")) == {}
    assert set(python("return self.b(x)", init="self.b = Block()", top=block.format("x.relu()"))) == {"torch_compute"}


def test_computing_where_the_own_kernel_fails_is_a_fallback():
    assert set(python("try:\n    return ext.run(x)\nexcept Exception:\n    return torch.relu(x)")) == {
        "fallback_branch"
    }
    assert python("try:\n    return ext.run(x)\nexcept RuntimeError as e:\n    raise ValueError(str(e))") == {}


def test_a_model_that_inherits_its_forward_is_told():
    code = "class Ref(nn.Module):\n    def forward(self, x):\n        return torch.relu(x)"
    inherits = f"{code}\nclass Base(Ref):\n    pass"
    assert set(python("return super().forward(x)", top="class Own(nn.ReLU): pass")) <= {"torch_compute"}
    assert set(python("return Base()(x)", top=inherits)) == {"torch_compute"}
    assert set(python("return Ref.forward(self, x)", top=code)) == {"torch_compute"}


TAMPERING = {
    "exec": ("exec('y = 1')", "code_from_text"),
    "eval": ("eval('torch.relu')(x)", "code_from_text"),
    "eval handed about": ("f = eval\nf('1')", "code_from_text"),
    "compile": ("compile('1', 'f', 'eval')", "code_from_text"),
    "__import__": ("__import__('os')", "import"),
    "importlib": ("import importlib", "import"),
    "importlib of torch": ("F.importlib.import_module('os')", "import"),
    "ctypes": ("import ctypes", "dynamic_loading"),
    "cffi": ("from cffi import FFI", "dynamic_loading"),
    "gc": ("import gc\ngc.get_objects()", "introspection"),
    "inspect": ("import inspect", "introspection"),
    "frames": ("import sys\nsys._getframe(1)", "introspection"),
    "a frame of an exception": ("try:\n    1 / 0\nexcept Exception as e:\n    e.__traceback__.tb_frame", "introspection"),
    "sys.modules": ("import sys\nsys.modules['torch']", "introspection"),
    "sys.path": ("import sys\nsys.path.insert(0, '.')", "introspection"),
    "globals": ("globals()['torch']", "introspection"),
    "subclasses": ("object.__subclasses__()", "introspection"),
    "subclasses by getattr": ("getattr(object, '__subcl' + 'asses__')()", "introspection"),
    "the dict of a module": ("torch.__dict__['relu']", "introspection"),
    "the globals of a function": ("self.forward.__globals__", "introspection"),
    "getattr handed about": ("map(getattr, [torch], ['relu'])", "hidden_name"),
    "a name that can't be told": ("getattr(torch, str(x.shape[0]))", "hidden_name"),
    "attrgetter": ("import operator\noperator.attrgetter('nn.functional.relu')(torch)", "hidden_name"),
    "os of another module": ("import contextlib\ncontextlib.os.system('ls')", "import"),
    "sys of another module": ("import dataclasses\ndataclasses.sys.modules", "import"),
    "built-ins of another module": ("import enum\nenum.bltns.eval('1')", "import"),
    "a module in a crowd": ("import os\nl = [os] + [" + ", ".join(f"lambda: {k}" for k in range(120)) + "]\nl[0].system('ls')", "process"),
    "the environment by a method": ("import os\nos.environ.update({'LD_PRELOAD': 'x'})", "process"),
    "a log in a file": ("import logging\nlogging.basicConfig(filename='../x')", "file_access"),
    "hooks of every module": ("torch.nn.modules.module.register_module_forward_hook(print)", "torch_internals"),
    "what only seems to be dead": ("if not torch.zeros(1).is_cuda:\n    torch.relu = None", "patching"),
    "what stands behind a return": ("def f(t):\n    if torch.zeros(1).is_cuda:\n        return t\n    torch.relu = None\nf(x)", "patching"),
    "subprocess": ("import subprocess", "process"),
    "os.system": ("import os\nos.system('ls')", "process"),
    "os.fork": ("from os import fork", "process"),
    "os by another module": ("import tempfile\ntempfile._os.system('ls')", "file_access"),
    "os of torch": ("torch.os.system('ls')", "torch_internals"),
    "multiprocessing": ("import torch.multiprocessing as mp", "process"),
    "threads": ("import threading", "thread"),
    "a thread pool": ("from concurrent.futures import ThreadPoolExecutor", "thread"),
    "a socket": ("import socket", "network"),
    "a download": ("torch.hub.load('a', 'b')", "network"),
    "reading a file": ("open('/proc/self/maps').read()", "file_access"),
    "reading its own file": ("open(__file__).read()", "file_access"),
    "a file above": ("open('../wave.py', 'w')", "file_access"),
    "pathlib": ("from pathlib import Path\nPath('/proc/self/mem').read_bytes()", "file_access"),
    "a link": ("import os\nos.symlink('/etc/passwd', 'a')", "file_access"),
    "torch.load": ("torch.load('a')", "file_access"),
    "pickle": ("import pickle", "code_from_text"),
    "a variable of the environment": ("import os\nos.environ['LD_PRELOAD'] = 'x'", "process"),
    "patching torch": ("torch.relu = None", "patching"),
    "patching an alias": ("c = torch.cuda\nc.synchronize = lambda: None", "patching"),
    "patching by setattr": ("setattr(torch.cuda, 'synchronize', None)", "patching"),
    "patching a class": ("torch.Tensor.__add__ = lambda a, b: a", "patching"),
    "patching an event": ("torch.cuda.Event.elapsed_time = lambda a, b: 1e-3", "patching"),
    "patching the clock": ("import time\ntime.time = lambda: 0", "patching"),
    "patching by del": ("del torch.relu", "patching"),
    "patching a type": ("type(x).__add__ = lambda a, b: a", "patching"),
    "patching in a loop": ("for torch.relu in [1]:\n    pass", "patching"),
    "patching an extension": ("ext.run = torch.relu", "patching"),
    "patching its object's class": ("self.__class__ = nn.ReLU", "patching"),
    "flags of a backend": ("torch.backends.cudnn.benchmark = True", "backend_flags"),
    "threads of torch": ("torch.set_num_threads(1)", "backend_flags"),
    "torch.compile": ("torch.compile(self)", "delegation"),
    "torch.jit": ("torch.jit.script(self)", "delegation"),
    "dynamo": ("import torch._dynamo", "delegation"),
    "a compiled decorator": ("@torch.compile\ndef f(t):\n    return t", "delegation"),
    "triton": ("import triton", "other_language"),
    "cupy": ("import cupy as cp", "other_language"),
    "numba": ("from numba import cuda", "other_language"),
    "a side stream": ("s = torch.cuda.Stream()\nwith torch.cuda.stream(s):\n    pass", "side_stream"),
    "a graph": ("g = torch.cuda.CUDAGraph()", "cuda_graph"),
    "a graph of a callable": ("torch.cuda.make_graphed_callables(self, (x,))", "cuda_graph"),
    "a subclass of tensor": ("class T(torch.Tensor):\n    pass", "tensor_subclass"),
    "a hook of torch's": ("class T:\n    @classmethod\n    def __torch_function__(cls, *a):\n        pass", "tensor_subclass"),
    "the dispatcher": ("import torch.utils._python_dispatch", "torch_internals"),
    "a library of operators": ("torch.library.Library('aten', 'IMPL')", "patching"),
    "a module beside it": ("from . import model", "import"),
    "the reference's module": ("from model import Model", "import"),
    "the judge": ("import mooreeval.execute.device", "import"),
    "a debugger": ("breakpoint()", "introspection"),
    "jiterator": ("torch.cuda.jiterator._create_jit_fn('x')", "runtime_compiler"),
}  # fmt: skip


@pytest.mark.parametrize(("statement", "rule"), TAMPERING.values(), ids=TAMPERING)
@pytest.mark.parametrize("place", ["module", "constructor", "forward", "never called"])
@pytest.mark.parametrize("native", [True, False], ids=["native", "mixed"])
def test_reaching_for_the_judge_or_the_machine_is_accused_wherever_it_stands(statement, rule, place, native):
    if place == "module":
        statement = (
            statement.replace("self", "nn.Module()").replace("x.", "torch.ones(3).").replace("(x)", "(torch.ones(3))")
        )
        found = python(top=f"x = torch.ones(3)\next = load_inline(name='a')\n{statement}", native=native)
    elif place == "constructor":
        found = python(init=f"x = torch.ones(3)\n{statement}", native=native)
    elif place == "forward":
        found = python(f"{statement}\nreturn ext.run(x)", native=native)
    else:
        lines = statement.replace("\n", "\n    ")
        found = python(methods=f"def spare(self, x: torch.Tensor):\n    {lines}", native=native)
    assert rule in found, found


HONEST_TOPS = {
    "the architectures": "import os\nos.environ['TORCH_CUDA_ARCH_LIST'] = '9.0'\nos.environ.setdefault('MAX_JOBS', '4')",
    "typing and dataclasses": "from typing import Optional\nfrom dataclasses import dataclass\n@dataclass\nclass C:\n    a: int = 1",
    "a build that is kept": "from functools import lru_cache\n@lru_cache(maxsize=None)\ndef build(name):\n    return load_inline(name=name)",
    "a lazy global": "_ext = None\ndef get():\n    global _ext\n    if _ext is None:\n        _ext = load_inline(name='a')\n    return _ext",
    "sources in a folder of one's own": (
        "import os, tempfile\nd = tempfile.mkdtemp()\nwith open(os.path.join(d, 'a.cu'), 'w') as f:\n    f.write('x')\n"
        "from torch.utils.cpp_extension import load\nload(name='a', sources=[os.path.join(d, 'a.cu')])"
    ),
    "a hash for the name": "import hashlib\nname = 'e' + hashlib.md5(b'x').hexdigest()[:8]",
    "mixed precision for training": "from torch.cuda.amp import custom_fwd, custom_bwd\nclass Fn(torch.autograd.Function):\n    @staticmethod\n    @custom_fwd\n    def forward(ctx, x):\n        return ext.run(x)",
    "modules that hold data": "import json, struct, argparse\nfrom io import StringIO\nimport traceback\ns = json.dumps({})",
    "initialisation": "w = nn.Parameter(torch.empty(3, 3))\nfan, _ = nn.init._calculate_fan_in_and_fan_out(w)\nbound = 1 / fan ** 0.5",
    "names like those of modules": "import copy, datetime, random, time\nc = copy.copy([1])\nd = datetime.datetime.now()\nr = random.random()",
    "a global called input": "input = torch.ones(3)\nprint(input.shape)",
    "warnings": "import warnings\nwarnings.filterwarnings('ignore')",
    "the capability": "major, minor = torch.cuda.get_device_capability()\nprops = torch.cuda.get_device_properties(0)",
    "a name that is made of parts": "names = {f'k{i}': i for i in range(3)}\nitem = getattr(nn.Linear(2, 2), 'weight')",
    "an exception of one's own": "class Bad(Exception):\n    pass\ntype('A', (Exception,), {})",
    "help for tests": "def get_inputs():\n    return [torch.randn(4) + 1]\ndef get_init_inputs():\n    return []",
    "a reference beside it": "class Model(nn.Module):\n    def forward(self, x):\n        return torch.relu(x)",
}  # fmt: skip


@pytest.mark.parametrize("top", HONEST_TOPS.values(), ids=HONEST_TOPS)
def test_what_honest_modules_do_is_not_accused(top):
    assert python(top=top) == {}


LOW = {
    "half": "return ext.run(x.half())",
    "to": "return ext.run(x.to(torch.float16))",
    "a dtype by keyword": "return ext.run(x.to(dtype=torch.bfloat16))",
    "an allocation": "y = torch.empty(3, dtype=torch.half)\nreturn ext.run(x)",
    "autocast": "with torch.autocast('cuda'):\n    return ext.run(x)",
    "matmul precision": "torch.set_float32_matmul_precision('high')\nreturn ext.run(x)",
}


@pytest.mark.parametrize("body", LOW.values(), ids=LOW)
def test_lower_precision_is_accused_where_the_task_asks_for_single(body):
    assert "low_precision" in python(body, single=True)
    assert "low_precision" in python(body, single=True, native=False)


def test_other_precisions_are_free_where_the_task_has_them_and_may_be_asked_for():
    for name in ("half", "to", "a dtype by keyword", "an allocation"):
        assert python(LOW[name], single=False) == {}
    assert python(LOW["autocast"], single=False) == {}
    assert python("if x.dtype == torch.float16:\n    x = x.to(torch.float16)\nreturn ext.run(x)", single=True) == {}
    assert python("assert x.dtype in (torch.float32, torch.float16)\nreturn ext.run(x)", single=True) == {}


def test_results_kept_by_their_tensors_are_accused():
    top = "from functools import lru_cache\n@lru_cache\ndef f(t):\n    return ext.run(t)"
    assert set(python("return f(x)", top=top)) == {"cached_result"}


def test_an_accusation_names_the_line_and_the_words():
    found = python("y = ext.run(x)\nreturn torch.relu(y)")
    assert found == {"torch_compute": [16]}


@pytest.mark.parametrize(
    "code",
    ["", "class ModelNew(:", "x = (" * 500, "class ModelNew: pass\nx = " + "-" * 20_000 + "1", "\0", "a\x00b = 1",
     "class ModelNew: pass\nx = " + "+".join(["1"] * 5000), "class ModelNew: pass\n" + "x = [" * 90 + "]" * 90,
     "class ModelNew: pass\nx = a" + ".b" * 3000, "class ModelNew: pass\ny = " + "f(" * 150 + ")" * 150],
    ids=range(10),
)  # fmt: skip
def test_any_text_is_read_to_its_end(code):
    from mooreeval.legality.source import broken_rules

    broken_rules(code, ())


@pytest.mark.parametrize("module", sorted(set(MODULES) - {"torch", "numpy", "typing_extensions"}))
def test_no_module_on_the_list_leads_to_another_one(module):
    parts = {name for name, part in vars(importlib.import_module(module)).items() if isinstance(part, types.ModuleType)}
    assert {name for name in parts if is_part_of_module(module, name)} <= {"path", "abc"}  # themselves on the list
