package profile

// Profile is what was measured about a processor: distances, sizes and costs that no theory gives. It never changes a
// result. Each number has a line in fields.txt: its unit, a range of values that work, a page of docs/tuning with the
// measurements that decided it, and what it trades.
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
	Sort      Sort
	Effort    Effort
	Fusion    Fusion
	Plan      Plan
	Threads   Threads
	GPU       GPU
	Stage     Stage
}

// Prefetch is about software prefetching.
type Prefetch struct {
	Distance     int
	TwoInputs    int
	LargeInput   int
	RowLeast     int
	RowMost      int
	Gathered     int
	GatheredRows int
}

// Stores is about stores past the caches.
type Stores struct {
	LeastVectors int
	WrittenMost  int
}

// Rows is about rows that go side by side.
type Rows struct {
	SharedLeast  int
	Many         int
	Some         int
	Few          int
	Short        int
	LeastVectors int
}

// Loops is about loops in vectors.
type Loops struct {
	Speculated     int
	CollapsedWork  int
	TransposedMost int
	InnerLeast     int
	ShortBody      int
	PairedMost     int
	FoursMost      int
}

// Columns is about reductions down columns.
type Columns struct {
	StripBytes   int
	FewRows      int
	FewBytes     int
	ResultsBytes int
	Rows         int
	NearRows     int
	SecondRows   int
	NearBytes    int
	Ahead        int
	Sums         int
}

// Reduce is about reductions along rows.
type Reduce struct {
	FusedRegisters  int
	ArgumentVectors int
	Kept            int
	LongBody        int
	Follows         int
	Streams         int
	FreeStreams     int
	Ahead           int
}

// Transpose is about operands that lie along another axis.
type Transpose struct {
	TileRows      int
	TileColumns   int
	Ahead         int
	NarrowColumns int
	RowsAhead     int
	Interleaved   int
}

// Matmul is about matrix products.
type Matmul struct {
	StackBytes   int
	TileBlock    int
	BesideBlock  int
	BesideSteps  int
	BesideTiles  int
	BesidePanels int
	BesideBytes  int
	LowSteps     int
	LowTiles     int
	PieceSteps   int
	BandTiles    int
	ChunkRows    int
	AcrossAhead  int
	Straight     int
	FarChain     int
	VectorAhead  int
	VectorAlong  int
	VectorLines  int
	VectorTurns  int
	SquareTurns  int
	StreamRows   int
	Behind       int
}

// NTT is about number theoretic transforms.
type NTT struct {
	Ahead      int
	Together   int
	Words      int
	Alike      int
	ShortBack  int
	Next       int
	LongFirst  int
	NextResult int
}

// Sort is about sorting in vectors.
type Sort struct {
	Ahead   int
	Sampled int
}

// Effort is about how much time compiling may take.
type Effort struct {
	Quick   int
	Least   int
	Objects int
	Kernels int
}

// Fusion is about what is computed again and what is written to memory.
type Fusion struct {
	ByteCost    int
	LaunchCost  int
	FewThreads  int
	SmallWork   int
	StepWork    int
	PackedCols  int
	RightPieces int
	PieceRows   int
	SharedLeast int
	TileGain    int
	ManyElems   int
	MirrorRows  int
	MirrorSteps int
}

// Plan is what plans depend on. A library has one plan for all processors, so these are those of the base profile.
type Plan struct {
	StreamTraffic int
	StreamOutput  int
	CacheBytes    int
	Recompute     int
	SlowOperation int
	SplitLeast    int
	SplitResults  int
	PartBytes     int
	UnitRows      int
	UnitBytes     int
	WideUnits     int
	OnceLeast     int
	NearBytes     int
	BothArms      int
	EvenUnits     int
	Copied        int
	ReadAgain     int
}

// Threads is about handing work to threads. Those of the base profile count, as for plans.
type Threads struct {
	OpTime      int
	ByteTime    int
	RegionTime  int
	WakeTime    int
	CallerSpin  int
	WorkerSpin  int
	WorkerReach int
	MovedTime   int
}

// GPU is what decides how kernels are mapped to the grids of a device.
type GPU struct {
	BusyTiles         int
	BusyGroups        int
	BusyThreads       int
	BusyWarps         int
	BusyBlocks        int
	VectorInstrs      int
	SharedLeast       int
	WarpElements      int
	ShortColumn       int
	ColumnThreads     int
	ColumnAhead       int
	Unrolled          int
	CacheBytes        int
	ScanLeast         int
	ScatterLeast      int
	ScatterPartitions int
	ScatterRows       int
	ScatterAhead      int
	ScatterTable      int
	ScatterBlocks     int
	TileElements      int
	TileLeast         int
	TileBytes         int
	TileFetched       int
	UnknownRows       int
	UnrolledSteps     int
	TransposeLeast    int
	LoopBytes         int
	LoopWork          int
	LoopKernels       int
}

// Stage is about operands of reductions that are brought in order first.
type Stage struct {
	Bytes    int
	RowBytes int
	Ahead    int
	Fewest   int
}
