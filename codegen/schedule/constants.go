package schedule

// Bounds of the code that is written several times: they keep compiling fast, and no machine decides them.
const (
	maxSubranges            = 8
	maxSubrangeCode         = 600 // statements
	maxUnswitched           = 3   // branches taken before the loops, one in an arm of another
	maxUnswitchedCode       = 700 // statements of a body
	minUnswitchedArm        = 8   // statements of both arms together
	maxTransposedStatements = 64  // of a body that stands in the code once for each step
)
