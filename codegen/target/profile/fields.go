package profile

// Profile is what was measured about a processor: distances, sizes and costs that no theory gives. It never changes a
// result. Each number has a unit, a range of values that work, what it trades, and a page of docs/tuning with the
// measurements that decided it.
type Profile struct {
	Name      string
	Prefetch  Prefetch
	Stores    Stores
	Rows      Rows
	Loops     Loops
	Columns   Columns
	Reduce    Reduce
	Transpose Transpose
	Matmul    Matmul
	NTT       NTT
	Effort    Effort
	Fusion    Fusion
	Plan      Plan
}

// Prefetch is about software prefetching.
type Prefetch struct {
	Distance     int `unit:"bytes" range:"64 65536" page:"prefetch" trade:"how far ahead a loop fetches its input: nearer comes too late, further is gone again"`
	TwoInputs    int `unit:"instructions" range:"0 1000" page:"prefetch" trade:"for a line of each of several inputs, from which fetching them beats the processor's own prefetcher"`
	LargeInput   int `unit:"bytes" range:"0 1073741824" page:"prefetch" trade:"of an input from which fetching is worth it; a smaller one stays in the second-level cache"`
	RowLeast     int `unit:"bytes" range:"64 65536" page:"prefetch" trade:"of a row from which the next one is asked for; shorter ones the processor fetches itself"`
	RowMost      int `unit:"bytes" range:"65536 1048576" page:"prefetch" trade:"of a row up to which the next one is asked for; of longer ones the beginning is gone before it is read"`
	Gathered     int `unit:"bytes" range:"64 1048576" page:"prefetch" trade:"of gathered rows between a row and the one that it asks for"`
	GatheredRows int `unit:"rows" range:"1 1000" page:"prefetch" trade:"that a gathered row asks ahead at most"`
}

// Stores is about stores past the caches.
type Stores struct {
	LeastVectors int `unit:"vectors" range:"1 64" page:"streaming-stores" trade:"of a row from which it is worth looking for its whole lines"`
}

// Rows is about rows that go side by side.
type Rows struct {
	SharedLeast  int `unit:"bytes" range:"0 1048576" page:"row-groups" trade:"along a row that all rows read, from which they go side by side"`
	Many         int `unit:"rows" range:"2 16" page:"row-groups" trade:"at once, of short bodies: more need more registers"`
	Some         int `unit:"rows" range:"2 16" page:"row-groups" trade:"at once, of longer bodies"`
	Few          int `unit:"rows" range:"2 16" page:"row-groups" trade:"at once where a vector is no whole line: more write parts of lines past the caches"`
	Short        int `unit:"instructions" range:"1 25" page:"row-groups" trade:"of a body up to which it is a short one"`
	LeastVectors int `unit:"vectors" range:"1 64" page:"row-groups" trade:"of a row from which rows go side by side"`
}

// Loops is about loops in vectors.
type Loops struct {
	Speculated     int `unit:"vectors" range:"1 16" page:"modular" trade:"computed before rare arms are asked for: more need more registers"`
	CollapsedWork  int `unit:"instructions" range:"0 10000" page:"elementwise" trade:"that depend on a short last axis alone, from which they are worth rows in memory"`
	TransposedMost int `unit:"iterations" range:"4 16" power:"yes" page:"transposition" trade:"of a sequential loop that are transposed at once"`
}

// Columns is about reductions down columns.
type Columns struct {
	StripBytes   int `unit:"bytes" range:"512 65536" page:"column-reductions" trade:"of the running sums of a strip: wider reads memory from end to end, narrower stays in the first-level cache"`
	ResultsBytes int `unit:"bytes" range:"65536 262144" page:"column-reductions" trade:"of the results of chunks on the stack"`
	Rows         int `unit:"rows" range:"1 8" power:"yes" page:"column-reductions" trade:"added at once: more read and write the sums less often, and need more streams"`
	NearRows     int `unit:"rows" range:"1 16" power:"yes" page:"column-reductions" trade:"added at once of a matrix that the caches hold"`
	SecondRows   int `unit:"rows" range:"1 8" power:"yes" page:"column-reductions" trade:"added at once of one in the second-level cache, where there are rare arms"`
	NearBytes    int `unit:"bytes" range:"0 1073741824" page:"column-reductions" trade:"of a matrix that the caches hold"`
	Ahead        int `unit:"groups of rows" range:"0 16" page:"column-reductions" trade:"that a strip asks for ahead, in the second-level cache: nearer comes too late, further is gone again"`
	Sums         int `unit:"reductions" range:"1 8" page:"column-reductions" trade:"that go down together at most"`
}

// Reduce is about reductions along rows.
type Reduce struct {
	FusedRegisters    int `unit:"registers" range:"0 128" page:"reductions" trade:"for the accumulators of one loop over several reductions"`
	ArgumentRegisters int `unit:"registers" range:"1 16" page:"reductions" trade:"for a vector whose position is kept"`
	Kept              int `unit:"iterations" range:"64 1024" page:"reductions" trade:"whose sums are kept before what follows them is done in vectors"`
	Follows           int `unit:"statements" range:"1 1000" page:"reductions" trade:"after the sums, from which they are done in vectors"`
}

// Transpose is about operands that lie along another axis.
type Transpose struct {
	TileRows      int `unit:"bytes" range:"64 1024" power:"yes" page:"transposition" trade:"of a tile along the operand: whole lines, and room in the second-level cache"`
	TileColumns   int `unit:"bytes" range:"64 1024" power:"yes" page:"transposition" trade:"of a tile along the output"`
	Ahead         int `unit:"bytes" range:"64 4096" power:"yes" page:"transposition" trade:"along the operand that a square asks for ahead"`
	NarrowColumns int `unit:"bytes" range:"64 1024" power:"yes" page:"transposition" trade:"of a tile along the output where it has one line along the operand"`
	RowsAhead     int `unit:"rows" range:"1 64" page:"transposition" trade:"of a tile that other operands are fetched ahead"`
	Interleaved   int `unit:"iterations" range:"2 8" page:"transposition" trade:"of the last axis up to which stores are interleaved; for longer ones tiles do as well"`
}

// Matmul is about matrix products.
type Matmul struct {
	StackBytes   int `unit:"bytes" range:"65536 524288" page:"matrix-products" trade:"of the copy of an operand, on the stack of a thread"`
	BesideBlock  int `unit:"bytes" range:"65536 1048576" page:"matrix-products" trade:"of the copy where rows lie side by side"`
	BesideSteps  int `unit:"steps" range:"16 4096" page:"matrix-products" trade:"of a piece there: unfinished sums come and go the less"`
	BesideTiles  int `unit:"tiles" range:"1 1000" page:"matrix-products" trade:"of rows from which rows lie side by side; with fewer, copies cost more"`
	BesidePanels int `unit:"panels" range:"1 1000" page:"matrix-products" trade:"from which rows that share sets lie side by side, twice as many for others"`
	BesideBytes  int `unit:"bytes" range:"0 1048576" page:"matrix-products" trade:"of a row from which others lie side by side"`
	LowSteps     int `unit:"steps" range:"0 10000" page:"matrix-products" trade:"from which tiles are lower than wide"`
	LowTiles     int `unit:"tiles" range:"1 1000" page:"matrix-products" trade:"of rows from which tiles are lower than wide"`
	PieceSteps   int `unit:"steps" range:"16 4096" page:"matrix-products" trade:"of a piece: long, since sums go through memory between pieces; short, since rows of a tile stay in the first-level cache"`
	BandTiles    int `unit:"tiles" range:"1 64" page:"matrix-products" trade:"of rows that lie across, copied at once"`
	ChunkRows    int `unit:"rows" range:"8 1024" page:"matrix-products" trade:"that one block of columns is multiplied with at once"`
	AcrossAhead  int `unit:"steps" range:"1 256" page:"matrix-products" trade:"of which lines are asked for ahead while rows that lie across are copied"`
	Straight     int `unit:"steps" range:"1 64" page:"matrix-products" trade:"up to which a chain has no loop"`
	FarChain     int `unit:"steps" range:"1 100000" page:"matrix-products" trade:"in whose time a line comes from far"`
	VectorAhead  int `unit:"bytes" range:"0 16777216" page:"matrix-vector" trade:"of rows of a matrix by a vector that are asked for ahead at most"`
	VectorTurns  int `unit:"vectors" range:"1 4" page:"matrix-vector" trade:"of sums whose squares alternate where a square has less than whole lines"`
	StreamRows   int `unit:"rows" range:"1 16" power:"yes" page:"matrix-vector" trade:"added to the sums at once, so that these are read and written the less"`
	Behind       int `unit:"bytes" range:"64 4096" page:"matrix-vector" trade:"by which squares are asked for ahead"`
}

// NTT is about number theoretic transforms.
type NTT struct {
	Ahead    int `unit:"bytes" range:"64 16384" power:"yes" page:"transforms" trade:"that the first pass fetches each of its streams ahead"`
	Together int `unit:"squares" range:"1 64" page:"transforms" trade:"whose factors are made before the first of them is done"`
	Words    int `unit:"yes or no" range:"0 1" page:"transforms" trade:"products of 64-bit integers in 512-bit vectors cost no more than others"`
}

// Effort is about how much time compiling may take.
type Effort struct {
	Quick   int `unit:"microseconds" range:"0 1000000" page:"compile-effort" trade:"that a kernel runs in all, below which optimising takes longer than it saves"`
	Least   int `unit:"microseconds" range:"0 1000000" page:"compile-effort" trade:"below which vectors take longer to compile than they save"`
	Objects int `unit:"modules" range:"1 16" page:"compile-effort" trade:"for each core that compiles at once"`
	Kernels int `unit:"kernels" range:"1 1000" page:"compile-effort" trade:"of the least effort that are worth all cores"`
}

// Fusion is about what is computed again and what is written to memory.
type Fusion struct {
	ByteCost    int `unit:"tenths of an operation" range:"1 1000" page:"fusion-costs" trade:"in the time of one byte of memory"`
	LaunchCost  int `unit:"operations" range:"0 1000000" page:"fusion-costs" trade:"that take as long as launching a kernel"`
	FewThreads  int `unit:"indices" range:"1 1024" page:"fusion-costs" trade:"of the outer axes, below which the threads are not busy"`
	SmallWork   int `unit:"operations" range:"1 16777216" page:"fusion-costs" trade:"of a computation that may run on one thread"`
	StepWork    int `unit:"operations" range:"1 16777216" page:"fusion-costs" trade:"of a step above which a loop runs kernels"`
	PackedCols  int `unit:"columns" range:"16 65536" page:"fusion-costs" trade:"for which the left operand of a product is packed once"`
	RightPieces int `unit:"copies" range:"1 64" page:"fusion-costs" trade:"of the right operand, by all threads"`
	PieceRows   int `unit:"rows" range:"1 65536" page:"fusion-costs" trade:"below which rows of a product are no piece of their own"`
	SharedLeast int `unit:"instructions" range:"1 1000" page:"fusion-costs" trade:"that reductions and elements share, from which they stay in one kernel"`
	TileGain    int `unit:"times" range:"1 100" page:"fusion-costs" trade:"that tiles of a product are faster than plain loops"`
	ManyElems   int `unit:"elements" range:"1 65536" page:"fusion-costs" trade:"from which writing a few elements in place beats writing all"`
}

// Plan is what plans depend on. A library has one plan for all processors, so these are those of the base profile.
type Plan struct {
	StreamTraffic int `unit:"bytes" range:"0 1073741824" page:"streaming-stores" trade:"of all buffers of a kernel, from which outputs go past the caches"`
	StreamOutput  int `unit:"bytes" range:"0 1073741824" page:"streaming-stores" trade:"of an output, from which it goes past the caches"`
	CacheBytes    int `unit:"bytes" range:"0 1048576" page:"fusion-costs" trade:"of the rows that a kernel keeps on its stack"`
	Recompute     int `unit:"instructions" range:"0 1000" page:"fusion-costs" trade:"of an element from which a row is kept and not computed again"`
	SlowOperation int `unit:"instructions" range:"1 1000" page:"fusion-costs" trade:"that a division or a root counts as"`
	SplitLeast    int `unit:"elements" range:"1 16777216" page:"threads" trade:"of a reduction from which threads share it"`
	SplitResults  int `unit:"results" range:"1 65536" page:"threads" trade:"of a reduction that keep the threads busy by themselves"`
	PartBytes     int `unit:"bytes" range:"64 4096" power:"yes" page:"transposition" trade:"that a thread's part of a transposed axis is a multiple of: parts share no lines"`
	UnitRows      int `unit:"rows" range:"1 1024" page:"matrix-products" trade:"of a unit of a product that threads share out"`
	UnitBytes     int `unit:"bytes" range:"64 65536" power:"yes" page:"matrix-products" trade:"of the columns of such a unit"`
	WideUnits     int `unit:"times" range:"1 64" page:"matrix-products" trade:"wider where both operands are copied"`
	EvenUnits     int `unit:"units" range:"1 1024" page:"matrix-products" trade:"for an even share of threads"`
}
