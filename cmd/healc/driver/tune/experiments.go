package tune

// experiment is a choice of one number, or of several that go together, by the time of some functions of
// workloads.heal.
type experiment struct {
	set    []string // fields that get one value
	values []int    // that are tried beside the one in force
	by     []string // the functions
}

// experiments are in the order in which they are made: one begins with what those before it have found, and those come
// first that have found something most often, since there may not be time for all. Fields that are not here are not
// worth a measurement: they are far from where anything changes, or about compiling.
var experiments = []experiment{
	{[]string{"reduce.streams"}, []int{1, 2, 4}, []string{"sum", "moments"}},
	{[]string{"reduce.free_streams"}, []int{1, 2, 4}, []string{"largest"}},
	{[]string{"reduce.ahead"}, []int{0, 1024, 4096, 16384}, []string{"sum", "dot", "largest"}},
	{[]string{"columns.rows"}, []int{1, 2, 4, 8}, []string{"column_sums"}},
	{[]string{"prefetch.two_inputs"}, []int{0, 8, 24, 64, 1000}, []string{"dot", "chain"}},
	{[]string{"transpose.ahead"}, []int{64, 256, 512, 1024, 2048}, []string{"transposed", "transposed_sum"}},
	{[]string{"ntt.words"}, []int{0, 1}, []string{"transforms"}},
	{[]string{"stores.written_most"}, []int{0, 48 << 20, 96 << 20}, []string{"digits_40", "digits_80"}},
	{[]string{"rows.many", "rows.some"}, []int{2, 4, 8, 16}, []string{"shared_row"}},
	{[]string{"loops.speculated"}, []int{1, 2, 4, 8}, []string{"near_sin", "near_modmul"}},
	{[]string{"columns.strip_bytes"}, []int{4096, 8192, 16384, 32768, 65536},
		[]string{"column_sums", "near_column_sums"}},
	{[]string{"columns.few_bytes"}, []int{1024, 2048, 4096, 16384}, []string{"few_row_sums"}},
	{[]string{"columns.near_rows"}, []int{2, 4, 8, 16}, []string{"near_column_sums"}},
	{[]string{"matmul.piece_steps"}, []int{128, 256, 384, 512, 768}, []string{"product_768", "product_f64"}},
	{[]string{"loops.paired_most"}, []int{0, 40, 100, 200, 400}, []string{"near_exp", "near_gelu", "near_sin"}},
	{[]string{"loops.fours_most"}, []int{0, 30, 60, 100}, []string{"near_exp", "near_sigmoid", "near_tanh"}},
	{[]string{"prefetch.row_least"}, []int{64, 512, 4096, 65536}, []string{"row_sums", "softmax"}},
	{[]string{"reduce.fused_registers"}, []int{8, 12, 16, 24}, []string{"moments", "softmax"}},
	{[]string{"matmul.square_turns"}, []int{1, 2, 3, 4}, []string{"matrix_vector", "odd_matrix_vector"}},
	{[]string{"matmul.vector_ahead"}, []int{0, 32768, 131072, 524288}, []string{"matrix_vector", "vector_matrix"}},
	{[]string{"transpose.tile_rows"}, []int{64, 128, 256, 512, 1024}, []string{"transposed_sum"}},
	{[]string{"transpose.tile_columns"}, []int{64, 128, 256, 512, 1024}, []string{"transposed_sum"}},
	{[]string{"prefetch.distance"}, []int{512, 1024, 2048, 4096, 8192, 16384}, []string{"sum", "dot", "chain"}},
	{[]string{"reduce.argument_vectors"}, []int{2, 4, 8, 16}, []string{"largest"}},
	{[]string{"columns.ahead"}, []int{0, 1, 2, 4}, []string{"column_sums", "second_column_maxima"}},
	{[]string{"loops.short_body"}, []int{0, 6, 12, 25}, []string{"near_chain", "near_modmul"}},
	{[]string{"matmul.stack_bytes"}, []int{131072, 262144, 524288}, []string{"product_768", "product_256"}},
	{[]string{"matmul.tile_block"}, []int{65536, 131072, 262144, 524288, 1048576}, []string{"product_bf16"}},
	{[]string{"matmul.chunk_rows"}, []int{16, 32, 64, 128, 256}, []string{"product_768", "product_flat"}},
	{[]string{"matmul.low_steps"}, []int{0, 48, 128, 10000}, []string{"product_256", "product_flat"}},
	{[]string{"matmul.stream_rows"}, []int{2, 4, 8, 16}, []string{"vector_matrix"}},
	{[]string{"matmul.vector_lines"}, []int{1, 4, 8, 16}, []string{"matrix_vector", "odd_matrix_vector"}},
	{[]string{"matmul.vector_along"}, []int{0, 256, 512, 1024}, []string{"long_matrix_vector"}},
	{[]string{"matmul.vector_turns"}, []int{1, 2, 4}, []string{"matrix_vector"}},
	{[]string{"ntt.alike"}, []int{0, 1}, []string{"transforms"}},
	{[]string{"ntt.short_back"}, []int{0, 1}, []string{"transforms"}},
	{[]string{"ntt.ahead"}, []int{256, 1024, 4096}, []string{"transforms"}},
	{[]string{"ntt.next"}, []int{0, 1 << 18}, []string{"transforms"}},
	{[]string{"ntt.long_first"}, []int{0, 1}, []string{"transforms"}},
	{[]string{"ntt.together"}, []int{1, 4, 16, 64}, []string{"transforms"}},
}
