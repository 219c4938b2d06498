"""The tables of operator variants. A shape is of the first input, then of the second, ...; a text is an expression."""

from __future__ import annotations

from musacoder.data.expand.variants import Row

_ROWS = ((64, 1000),), ((7, 13, 129),)
_PLANES = ((4, 16, 32, 32),), ((2, 5, 17, 23),)
_STRIDED = ("contiguous", "transposed", "every_second")

ELEMENTWISE = (
    Row("unary", "torch.{function}(x)", (((1 << 16,),), ((33, 65, 7),)),
        {"function": ("relu", "tanh", "sigmoid", "erf", "sin", "expm1")}),
    Row("activation", "F.{function}(x)", (((128, 257),),),
        {"function": ("gelu", "silu", "mish", "softplus", "hardswish", "selu", "elu", "logsigmoid")},
        layouts=("contiguous", "transposed")),
    Row("leaky_relu", "F.leaky_relu(x, {slope})", (((100, 333),),), {"slope": (0.01, 0.3)}, layouts=_STRIDED),
    Row("clamp", "torch.clamp(x, {low}, {high})", (((5000,),),), {"low": (-1.0, 0.0), "high": (0.5, 6.0)}),
    Row("broadcast_add", "x + y", (((64, 128), (128,)), ((8, 1, 33), (1, 17, 33)), ((4, 6, 9, 9), (6, 1, 1))),
        layouts=("contiguous", "offset")),
    Row("broadcast_multiply", "x * y * {scale}", (((256, 100), (256, 1)), ((3, 64, 64), (64,))), {"scale": (0.5, 3.0)}),
    Row("lerp", "torch.lerp(x, y, {weight})", (((50, 200), (50, 200)),), {"weight": (0.1, 0.75)}),
    Row("addcmul", "torch.addcmul(x, y, z, value={value})", (((40, 70), (40, 70), (40, 70)),), {"value": (0.5, -2.0)}),
    Row("where", "torch.where(x > {threshold}, x, y)", (((90, 110), (90, 110)),), {"threshold": (0.0, 0.7)}),
)  # fmt: skip

REDUCTIONS = (
    Row("sum", "torch.sum(x, dim={dim}, keepdim={keepdim})", (((32, 48, 65),),),
        {"dim": (0, 1, -1, (0, 2)), "keepdim": (True, False)}),
    Row("mean", "torch.mean(x, dim={dim})", (((16, 33, 70),),), {"dim": (0, 1, 2)},
        layouts=("contiguous", "every_second")),
    Row("extremum", "torch.{function}(x, dim={dim})", (((24, 50, 31),),),
        {"function": ("amax", "amin"), "dim": (0, 1, -1)}),
    Row("variance", "torch.var(x, dim={dim}, correction={correction})", (((40, 500),),),
        {"dim": (0, 1), "correction": (0, 1)}),
    Row("vector_norm", "torch.linalg.vector_norm(x, ord={order}, dim={dim})", (((60, 200),),),
        {"order": (1, 2, 3), "dim": (0, 1)}),
    Row("logsumexp", "torch.logsumexp(x, dim={dim})", (((64, 300),), ((5, 7, 400),)), {"dim": (0, -1)}),
    Row("cumulative", "torch.{function}(x, dim={dim})", (((32, 257),),),
        {"function": ("cumsum", "logcumsumexp"), "dim": (0, 1)}),
    Row("prod", "torch.prod(x, dim={dim})", (("torch.rand(30, 8, 40) + 0.5",),), {"dim": (0, 1)}),
)  # fmt: skip

NORMALISATIONS = (
    Row("softmax", "torch.softmax(x, dim={dim})", _ROWS, {"dim": (0, -1)}, layouts=("contiguous", "transposed")),
    Row("log_softmax", "torch.log_softmax(x, dim={dim})", (((100, 257),), ((4, 21, 9, 9),)), {"dim": (0, 1)}),
    Row("layer_norm", "F.layer_norm(x, ({width},), y, z, eps={eps})",
        (((32, 100, 96), (96,), (96,)),), {"width": (96,), "eps": (1e-5, 1e-2)}, layouts=_STRIDED),
    Row("rms_norm", "x * torch.rsqrt(x.pow(2).mean({dim}, keepdim=True) + 1e-6) * y",
        (((48, 200), (200,)), ((3, 19, 64), (64,))), {"dim": (-1,)}),
    Row("group_norm", "F.group_norm(x, {groups})", (((4, 24, 15, 15),),), {"groups": (1, 3, 8, 24)},
        layouts=("contiguous", "channels_last")),
    Row("instance_norm", "F.instance_norm(x)", _PLANES),
    Row("normalize", "F.normalize(x, p={p}, dim={dim})", (((64, 150),),), {"p": (1.0, 2.0), "dim": (0, 1)}),
    Row("local_response_norm", "F.local_response_norm(x, size={size}, alpha=0.5, k={k})", (((4, 20, 12, 12),),),
        {"size": (3, 5), "k": (1.0, 2.0)}),
)  # fmt: skip

PRODUCTS = (
    Row("matmul", "x @ y", (((128, 96), (96, 64)), ((33, 65), (65, 17)), ((1, 300), (300, 200))), layouts=_STRIDED),
    Row("batched_matmul", "torch.bmm(x, y)", (((6, 40, 50), (6, 50, 30)),), layouts=("contiguous", "transposed")),
    Row("matmul_transposed", "x @ y.transpose(-1, -2)", (((64, 80), (48, 80)), ((4, 20, 33), (4, 25, 33)))),
    Row("linear", "self.layer(x)", (((64, 120),), ((3, 17, 120),)), {"out": (50, 256), "bias": (True, False)},
        layer="nn.Linear(120, {out}, bias={bias})"),
    Row("addmm", "torch.addmm(x, y, z, beta={beta}, alpha={alpha})", (((40, 60), (40, 70), (70, 60)),),
        {"beta": (1.0, 0.5), "alpha": (1.0, 2.0)}),
    Row("einsum", "torch.einsum('{equation}', x, y)", (((8, 12, 16), (8, 16, 12)),),
        {"equation": ("bij,bjk->bik", "bij,bji->b", "bij,bjk->ik")}),
    Row("outer", "torch.outer(x, y)", (((200,), (300,)),)),
    Row("attention", "F.scaled_dot_product_attention(x, y, z, is_causal={causal})",
        (((2, 4, 48, 32), (2, 4, 48, 32), (2, 4, 48, 32)),), {"causal": (True, False)}),
)  # fmt: skip

CONVOLUTIONS = (
    Row("conv2d", "self.layer(x)", (((4, 8, 28, 31),),),
        {"kernel": (1, 3, (3, 5)), "stride": (1, 2), "padding": (0, 2)},
        layer="nn.Conv2d(8, 12, kernel_size={kernel}, stride={stride}, padding={padding})"),
    Row("dilated_conv2d", "self.layer(x)", (((2, 6, 30, 30),),), {"dilation": (2, 3), "groups": (1, 3)},
        layer="nn.Conv2d(6, 9, kernel_size=3, dilation={dilation}, groups={groups})",
        layouts=("contiguous", "channels_last")),
    Row("depthwise_conv2d", "self.layer(x)", (((2, 24, 20, 20),),), {"kernel": (3, 7), "bias": (True, False)},
        layer="nn.Conv2d(24, 24, {kernel}, padding='same', groups=24, bias={bias})"),
    Row("conv1d", "self.layer(x)", (((4, 10, 200),),), {"kernel": (3, 8), "stride": (1, 3)},
        layer="nn.Conv1d(10, 14, {kernel}, stride={stride})"),
    Row("transposed_conv2d", "self.layer(x)", (((2, 8, 13, 14),),), {"stride": (1, 2), "padding": (0, 1)},
        layer="nn.ConvTranspose2d(8, 6, 3, stride={stride}, padding={padding})"),
    Row("conv3d", "self.layer(x)", (((1, 4, 8, 12, 12),),), {"kernel": (2, 3)}, layer="nn.Conv3d(4, 6, {kernel})"),
)  # fmt: skip

POOLING = (
    Row("max_pool2d", "F.max_pool2d(x, {kernel}, stride={stride}, padding={padding})", (((3, 12, 29, 30),),),
        {"kernel": (2, 3), "stride": (1, 2), "padding": (0, 1)}),
    Row("avg_pool2d", "F.avg_pool2d(x, {kernel}, stride={stride}, padding=1, count_include_pad={counted})",
        (((3, 12, 29, 30),),), {"kernel": (2, 3), "stride": (2,), "counted": (True, False)}),
    Row("adaptive_avg_pool2d", "F.adaptive_avg_pool2d(x, {size})", _PLANES, {"size": (1, (3, 5), 7)}),
    Row("max_pool1d", "F.max_pool1d(x, {kernel}, dilation={dilation})", (((6, 10, 150),),),
        {"kernel": (3, 4), "dilation": (1, 2)}),
    Row("lp_pool2d", "F.lp_pool2d(x.abs() + 0.1, {p}, 3)", (((2, 9, 21, 21),),), {"p": (1.0, 2.0)}),
)  # fmt: skip

LAYOUT = (
    Row("permute", "x.permute({order}).contiguous() * 2", (((6, 20, 30),),),
        {"order": ("2, 0, 1", "1, 0, 2", "2, 1, 0")}),
    Row("concatenate", "torch.cat([x, y], dim={dim})", (((20, 31), (20, 31)),), {"dim": (0, 1)}, layouts=_STRIDED),
    Row("pad", "F.pad(x, {padding}, mode='{mode}')", (((2, 5, 18, 19),),),
        {"padding": ((1, 2, 2, 1), (3, 0, 1, 4)), "mode": ("constant", "reflect", "replicate")}),
    Row("roll", "torch.roll(x, {shift}, dims={dim})", (((40, 50),),), {"shift": (1, 7), "dim": (0, 1)}),
    Row("flip", "torch.flip(x, {dims})", (((9, 25, 33),),), {"dims": ((0,), (1, 2))}),
    Row("triangle", "torch.{function}(x, diagonal={diagonal})", (((60, 45),),),
        {"function": ("tril", "triu"), "diagonal": (-3, 0, 5)}),
    Row("gather_rows", "torch.index_select(x, {dim}, y)", (((50, 40), "torch.randint(0, 40, (70,))"),),
        {"dim": (0, 1)}),
    Row("embedding", "F.embedding(x, y)", (("torch.randint(0, 200, (8, 30))", (200, 48)),)),
    Row("pixel_shuffle", "F.pixel_shuffle(x, {factor})", (((2, 36, 9, 10),),), {"factor": (2, 3)}),
    Row("interpolate", "F.interpolate(x, scale_factor={factor}, mode='{mode}')", (((2, 7, 15, 16),),),
        {"factor": (2, 0.5), "mode": ("nearest", "bilinear", "bicubic")}),
    Row("unfold", "F.unfold(x, {kernel}, stride={stride})", (((2, 5, 16, 18),),), {"kernel": (2, 3), "stride": (1, 2)}),
)  # fmt: skip

LOSSES = (
    Row("mse_loss", "F.mse_loss(x, y, reduction='{reduction}')", (((64, 50), (64, 50)),),
        {"reduction": ("mean", "sum", "none")}),
    Row("smooth_l1_loss", "F.smooth_l1_loss(x, y, beta={beta}, reduction='none')", (((50, 60), (50, 60)),),
        {"beta": (0.3, 1.0)}),
    Row("huber_loss", "F.huber_loss(x, y, delta={delta}, reduction='none').sum(1)", (((50, 60), (50, 60)),),
        {"delta": (0.5, 2.0)}),
    Row("cross_entropy", "F.cross_entropy(x, y, reduction='none', label_smoothing={smoothing})",
        (((80, 30), "torch.randint(0, 30, (80,))"),), {"smoothing": (0.0, 0.1)}),
    Row("bce_with_logits", "F.binary_cross_entropy_with_logits(x, y, reduction='none')",
        (((70, 20), "torch.rand(70, 20)"),)),
    Row("kl_divergence", "F.kl_div(torch.log_softmax(x, -1), torch.softmax(y, -1), reduction='none').sum(-1)",
        (((40, 90), (40, 90)),)),
    Row("cosine_similarity", "F.cosine_similarity(x, y, dim={dim})", (((60, 70), (60, 70)),), {"dim": (0, 1)}),
    Row("triplet_loss", "F.triplet_margin_loss(x, y, z, margin={margin}, reduction='none')",
        (((50, 32), (50, 32), (50, 32)),), {"margin": (1.0, 4.0)}),
)  # fmt: skip

TABLES = (*ELEMENTWISE, *REDUCTIONS, *NORMALISATIONS, *PRODUCTS, *CONVOLUTIONS, *POOLING, *LAYOUT, *LOSSES)
