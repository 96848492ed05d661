package schedule

import "healc/ir/scalar"

const scalarNone = scalar.None

const (
	hotVectors              = 4
	maxSubranges            = 8
	maxSubrangeCode         = 600
	maxUnswitched           = 3
	maxUnswitchedCode       = 700
	minUnswitchedArm        = 8
	fetchAhead              = 4096
	fetchTwoWork            = 24
	LargeInput              = 1 << 20
	AheadLeast              = 512
	AheadMost               = 64 << 10
	gatherAhead             = 16 << 10
	maxRowsAhead            = 64
	sharedLeast             = 8 << 10
	manyRows                = 8
	someRows                = 4
	fewRows                 = 2
	leastRowVectors         = 8
	periodWork              = 24
	minStreamed             = 8
	leastFollows            = 24
	StripBytes              = 16 << 10
	lanesBytes              = 128 << 10
	stripRows               = 4
	nearRows                = 8
	secondRows              = 2
	nearBytes               = 16 << 20
	partBytes               = 128
	tileRowBytes            = 256
	tileColBytes            = 256
	transposeAhead          = 512
	narrowColBytes          = 512
	rowsAhead               = 8
	maxInterleaved          = 8
	maxStripSums            = 4
	maxTransposedStatements = 64
	maxTransposedSteps      = 16
)
