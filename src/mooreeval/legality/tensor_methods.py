"""Names of PyTorch that compute: methods of a tensor that other types of Python do not have too."""

from __future__ import annotations

TENSOR_METHODS = frozenset(
    """
    abs abs_ absolute absolute_ acos acos_ acosh acosh_ add_ addbmm addbmm_ addcdiv addcdiv_ addcmul addcmul_ addmm
    addmm_ addmv addmv_ addr addr_ all amax amin aminmax angle any arccos arccos_ arccosh arccosh_ arcsin arcsin_
    arcsinh arcsinh_ arctan arctan2 arctan2_ arctan_ arctanh arctanh_ argmax argmin argsort argwhere
    as_strided_scatter asin asin_ asinh asinh_ atan atan2 atan2_ atan_ atanh atanh_ baddbmm baddbmm_ bernoulli
    bernoulli_ bincount bitwise_and bitwise_and_ bitwise_left_shift bitwise_left_shift_ bitwise_not bitwise_not_
    bitwise_or bitwise_or_ bitwise_right_shift bitwise_right_shift_ bitwise_xor bitwise_xor_ bmm cauchy_ ceil ceil_
    cholesky cholesky_inverse cholesky_solve clamp clamp_ clamp_max clamp_max_ clamp_min clamp_min_ clip clip_ conj
    conj_physical conj_physical_ copysign copysign_ corrcoef cos cos_ cosh cosh_ count_nonzero cov cross cummax
    cummin cumprod cumprod_ cumsum cumsum_ deg2rad deg2rad_ dequantize det diag diag_embed diagflat diagonal_scatter
    diff digamma digamma_ dist div div_ divide divide_ dot dsplit eig eq eq_ erf erf_ erfc erfc_ erfinv erfinv_ exp
    exp2 exp2_ exp_ expm1 expm1_ exponential_ fill_diagonal_ fix fix_ flip fliplr flipud float_power float_power_
    floor floor_ floor_divide floor_divide_ fmax fmin fmod fmod_ frac frac_ frexp gather gcd gcd_ ge ge_ geometric_
    geqrf ger greater greater_ greater_equal greater_equal_ gt gt_ hardshrink hash_tensor heaviside heaviside_ histc
    histogram hsplit hypot hypot_ i0 i0_ igamma igamma_ igammac igammac_ index_add index_add_ index_copy index_copy_
    index_fill index_fill_ index_put index_put_ index_reduce index_reduce_ index_select inner inverse isclose
    isfinite isinf isnan isneginf isposinf isreal istft kron kthvalue lcm lcm_ ldexp ldexp_ le le_ lerp lerp_ less
    less_ less_equal less_equal_ lgamma lgamma_ log log10 log10_ log1p log1p_ log2 log2_ log_ log_normal_
    log_softmax logaddexp logaddexp2 logcumsumexp logdet logical_and logical_and_ logical_not logical_not_
    logical_or logical_or_ logical_xor logical_xor_ logit logit_ logsumexp lstsq lt lt_ lu lu_solve masked_fill
    masked_fill_ masked_scatter masked_scatter_ masked_select matmul matrix_exp matrix_power max maximum mean median
    min minimum mm mode msort mul mul_ multinomial multiply multiply_ mv mvlgamma mvlgamma_ nan_to_num nan_to_num_
    nanmean nanmedian nanquantile nansum narrow_copy ne ne_ neg neg_ negative negative_ nextafter nextafter_ nonzero
    nonzero_static norm normal_ not_equal not_equal_ orgqr ormqr outer pinverse polygamma polygamma_ pow pow_ prelu
    prod put put_ q_per_channel_axis q_per_channel_scales q_per_channel_zero_points qr quantile rad2deg rad2deg_
    random_ reciprocal reciprocal_ relu relu_ remainder remainder_ renorm renorm_ repeat repeat_interleave
    resize_as_sparse_ roll rot90 round round_ rsqrt rsqrt_ scatter scatter_ scatter_add scatter_add_ scatter_reduce
    scatter_reduce_ select_scatter sgn sgn_ sigmoid sigmoid_ sign sign_ signbit sin sin_ sinc sinc_ sinh sinh_
    slice_inverse slice_scatter slogdet smm softmax solve sparse_mask sparse_resize_ sparse_resize_and_clear_ sqrt
    sqrt_ square square_ sspaddmm std stft sub sub_ subtract subtract_ sum sum_to_size svd swapaxes_ swapdims_
    symeig take take_along_dim tan tan_ tanh tanh_ tile topk trace triangular_solve tril tril_ triu triu_
    true_divide true_divide_ trunc trunc_ uniform_ unique unique_consecutive unsafe_split_with_sizes var vdot vsplit
    where xlogy xlogy_
    """.split()
)

# Functions that C++ finds by their arguments, without a namespace: `relu(x)` is `at::relu(x)` where x is a tensor.
FUNCTIONS = TENSOR_METHODS | frozenset(
    """
    adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d
    adaptive_max_pool3d add affine_grid_generator alpha_dropout alpha_dropout_ as_tensor atleast_1d atleast_2d
    atleast_3d avg_pool1d avg_pool2d avg_pool3d bartlett_window batch_norm batch_norm_elemt batch_norm_gather_stats
    batch_norm_gather_stats_with_counts batch_norm_stats batch_norm_update_stats bilinear bin binary_cross_entropy
    binary_cross_entropy_with_logits binomial blackman_window block_diag broadcast_shapes bucketize can_cast
    cartesian_prod cat cauchy ccol_indices cdist celu celu_ chain_matmul chalf channel_shuffle
    choose_qparams_optimized coalesce col2im col_indices column_stack combinations complex concat concatenate
    confirmed_by_owner constant_pad_nd conv1d conv2d conv3d conv_depthwise3d conv_tbc conv_transpose1d
    conv_transpose2d conv_transpose3d convolution convolution_overrideable copy_sparse_to_sparse
    copy_sparse_to_sparse_ cosine_embedding_loss cosine_similarity cross_entropy_loss crow_indices ctc_loss
    cudnn_affine_grid_generator cudnn_batch_norm cudnn_convolution cudnn_convolution_add_relu cudnn_convolution_relu
    cudnn_convolution_transpose cudnn_grid_sampler cudnn_is_acceptable cumulative_trapezoid dense_dim divmod dropout
    dropout_ dstack einsum elu elu_ embedding embedding_bag embedding_renorm embedding_renorm_ empty_quantized
    exponential eye fabs fake_quantize_per_channel_affine fake_quantize_per_channel_affine_cachemask
    fake_quantize_per_tensor_affine fake_quantize_per_tensor_affine_cachemask fbgemm_linear_fp16_weight
    fbgemm_linear_fp16_weight_fp32_activation fbgemm_linear_int8_weight fbgemm_linear_int8_weight_fp32_activation
    fbgemm_linear_quantize_weight fbgemm_pack_gemm_matrix_fp16 fbgemm_pack_quantized_matrix feature_alpha_dropout
    feature_alpha_dropout_ feature_dropout feature_dropout_ fft_fft fft_fft2 fft_fftfreq fft_fftn fft_fftshift
    fft_hfft fft_hfft2 fft_hfftn fft_ifft fft_ifft2 fft_ifftn fft_ifftshift fft_ihfft fft_ihfft2 fft_ihfftn
    fft_irfft fft_irfft2 fft_irfftn fft_rfft fft_rfft2 fft_rfftfreq fft_rfftn fill flatten_dense_tensors floordiv
    fractional_max_pool2d fractional_max_pool3d frobenius_norm from_file fused_moving_avg_obs_fake_quant gamma gelu
    gelu_ geometric get_autocast_dtype get_gradients glu glu_jvp gradient grid_sampler grid_sampler_2d
    grid_sampler_3d group_norm gru gru_cell hamming_window hann_window hardsigmoid hardsigmoid_ hardswish hardswish_
    hardtanh hardtanh_ has_torch_function hex hinge_embedding_loss histogramdd hspmm hstack huber_loss im2col imag
    indices initial_seed instance_norm int_repr is_autocast_cpu_enabled is_autocast_enabled is_coalesced is_conj
    is_distributed is_inference is_neg is_owner is_scripting is_signed is_strides_like_format is_vulkan_available
    isin kaiser_window kl_div l1_loss layer_norm leaky_relu leaky_relu_ linalg__powsum linalg_cholesky
    linalg_cholesky_ex linalg_cond linalg_cross linalg_det linalg_diagonal linalg_eig linalg_eigh linalg_eigvals
    linalg_eigvalsh linalg_householder_product linalg_inv linalg_inv_ex linalg_ldl_factor linalg_ldl_factor_ex
    linalg_ldl_solve linalg_lstsq linalg_lu linalg_lu_factor linalg_lu_factor_ex linalg_lu_solve linalg_matmul
    linalg_matrix_exp linalg_matrix_norm linalg_matrix_power linalg_matrix_rank linalg_multi_dot linalg_norm
    linalg_pinv linalg_qr linalg_slogdet linalg_solve linalg_solve_ex linalg_solve_triangular linalg_svd
    linalg_svdvals linalg_tensorinv linalg_tensorsolve linalg_vander linalg_vecdot linalg_vector_norm linear
    linspace local_value log_normal log_sigmoid log_sigmoid_forward logspace lstm lstm_cell lu_unpack
    margin_ranking_loss mathremainder max_pool1d max_pool1d_with_indices max_pool2d max_pool2d_with_indices
    max_pool3d max_pool3d_with_indices max_unpool2d max_unpool3d meshgrid miopen_batch_norm miopen_convolution
    miopen_convolution_add_relu miopen_convolution_relu miopen_convolution_transpose miopen_ctc_loss
    miopen_depthwise_convolution miopen_rnn mish mish_ mkldnn_adaptive_avg_pool2d mkldnn_convolution mkldnn_linear
    mkldnn_max_pool2d mkldnn_max_pool3d mkldnn_reorder_conv2d_weight mkldnn_reorder_conv3d_weight mkldnn_rnn_layer
    modf mse_loss multi_margin_loss multilabel_margin_loss multilabel_margin_loss_forward native_batch_norm
    native_channel_shuffle native_dropout native_group_norm native_layer_norm native_norm nested_to_padded_tensor
    nll_loss nll_loss2d nll_loss2d_forward nll_loss_forward nll_loss_nd nonzero_numpy norm_except_dim normal
    normal_functional nuclear_norm oct one_hot owner owner_name pad pad_sequence pairwise_distance pdist
    pixel_shuffle pixel_unshuffle poisson poisson_nll_loss polar positive promote_types q_scale q_zero_point qscheme
    quantize_per_channel quantize_per_tensor quantize_per_tensor_dynamic quantized_batch_norm quantized_gru
    quantized_gru_cell quantized_lstm quantized_lstm_cell quantized_max_pool1d quantized_max_pool2d
    quantized_max_pool3d quantized_rnn_relu_cell quantized_rnn_tanh_cell random randperm real reflection_pad1d
    reflection_pad2d reflection_pad3d relu6 relu6_ replication_pad1d replication_pad2d replication_pad3d resize
    resize_ resize_as resize_as_ resize_as_sparse result_type retains_grad rms_norm rnn_relu rnn_relu_cell rnn_tanh
    rnn_tanh_cell row_indices row_stack rrelu rrelu_ rrelu_with_noise rrelu_with_noise_ rrelu_with_noise_functional
    rsub scaled_dot_product_attention searchsorted segment_reduce selu selu_ set silu silu_ slow_conv3d
    slow_conv3d_forward slow_conv_dilated2d slow_conv_dilated3d slow_conv_transpose2d slow_conv_transpose3d
    smooth_l1_loss soft_margin_loss softplus softshrink sort sorted sparse_bsc_tensor sparse_bsr_tensor
    sparse_compressed_tensor sparse_coo_tensor sparse_csc_tensor sparse_csr_tensor sparse_dim sparse_resize
    sparse_resize_and_clear sparse_sampled_addmm special_airy_ai special_bessel_j0 special_bessel_j1
    special_bessel_y0 special_bessel_y1 special_chebyshev_polynomial_t special_chebyshev_polynomial_u
    special_chebyshev_polynomial_v special_chebyshev_polynomial_w special_digamma special_entr special_erf
    special_erfc special_erfcx special_erfinv special_exp2 special_expit special_expm1 special_gammainc
    special_gammaincc special_gammaln special_hermite_polynomial_h special_hermite_polynomial_he special_i0
    special_i0e special_i1 special_i1e special_laguerre_polynomial_l special_legendre_polynomial_p special_log1p
    special_log_ndtr special_log_softmax special_logit special_logsumexp special_modified_bessel_i0
    special_modified_bessel_i1 special_modified_bessel_k0 special_modified_bessel_k1 special_multigammaln
    special_ndtr special_ndtri special_polygamma special_psi special_round special_scaled_modified_bessel_k0
    special_scaled_modified_bessel_k1 special_shifted_chebyshev_polynomial_t special_shifted_chebyshev_polynomial_u
    special_shifted_chebyshev_polynomial_v special_shifted_chebyshev_polynomial_w special_sinc special_softmax
    special_spherical_bessel_j0 special_xlog1py special_xlogy special_zeta stack std_mean sym_constrain_range
    sym_constrain_range_for_size tensordot thnn_conv2d threshold threshold_ to_dense to_here to_padded_tensor
    to_sparse to_sparse_bsc to_sparse_bsr to_sparse_csc to_sparse_csr trapezoid trapz tril_indices
    triplet_margin_loss triu_indices unflatten_dense_tensors uniform unique_dim unique_dim_consecutive
    upsample_bicubic2d upsample_bilinear2d upsample_linear1d upsample_nearest1d upsample_nearest2d
    upsample_nearest3d upsample_trilinear3d vander var_mean view_as_complex view_as_real vstack zero
    """.split()
)
