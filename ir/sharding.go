package ir

// ShardingRule says what becomes of an operation whose operands are cut into parts along an axis, one for each rank:
// see docs/distributed.md. The pass shard does it. Every entry of the table has one.
type ShardingRule uint8

// The rules. Where a result is said to be cut "as" an operand, every rank computes its own part.
const (
	// ShardUnknown is that of no operation.
	ShardUnknown ShardingRule = iota
	// ShardElements: the results are cut as the operands, all along one axis; one that is replicated is cut where it
	// is.
	ShardElements
	// ShardView: elements move. Along another axis nothing is sent, else what lies with neighbours is.
	ShardView
	// ShardReduce: partial results of whole chunks are gathered, and every rank reduces them in the prescribed order.
	ShardReduce
	// ShardPositions: the position and the value of the extreme of each part are gathered.
	ShardPositions
	// ShardProduct: rows of the left, columns of the right and batches are cut; the other factor is gathered.
	ShardProduct
	// ShardCarry: the state goes from rank to rank, in order.
	ShardCarry
	// ShardRows: rows that lie whole on one rank are computed there. Rows that are cut are gathered.
	ShardRows
	// ShardRequests: each rank asks the ranks that have them for the elements at its positions.
	ShardRequests
	// ShardScatter: what is added, and where, is gathered; every rank adds what falls into its part.
	ShardScatter
	// ShardUpdate: every rank replaces the elements of its part.
	ShardUpdate
	// ShardTabulate: the indices are cut where what is read is cut in the same way.
	ShardTabulate
	// ShardBranch: the arms of a choice that all ranks make alike.
	ShardBranch
	// ShardLoop: the state is cut as it is in the first step that cuts it.
	ShardLoop
	// ShardSource: made on every rank, of its part alone where only that is used.
	ShardSource
	// ShardOutput: gathered, and printed or written by rank 0.
	ShardOutput
	// ShardWhole: operands are never cut: scalars, strings and functions that recurse.
	ShardWhole
	// ShardExpanded: rewritten into other operations before.
	ShardExpanded
	// ShardMark: says how its operand is cut.
	ShardMark
)

var shardingTexts = [...]struct{ name, text string }{
	ShardElements: {"elements", "Nothing is sent: every rank computes its own elements."},
	ShardView:     {"views", "Along the cut axis, rows that lie with neighbours are sent; along others nothing."},
	ShardReduce: {"reductions", "The results of whole chunks are gathered, and reduced in the prescribed order " +
		"on every rank."},
	ShardPositions: {"positions", "The extreme of each part and its position are gathered."},
	ShardProduct:   {"products", "Rows of the left and columns of the right are cut; the other factor is gathered."},
	ShardCarry:     {"in order", "The state goes from rank to rank."},
	ShardRows:      {"rows", "Rows that are cut are gathered; rows that lie on one rank are computed there."},
	ShardRequests:  {"requests", "Each rank asks the others for the elements at its positions."},
	ShardScatter:   {"scatters", "Positions and values are gathered; every rank adds to its own part."},
	ShardUpdate:    {"updates", "Every rank replaces the elements of its own part."},
	ShardTabulate:  {"by index", "Nothing is sent where elements are read at the index itself."},
	ShardBranch:    {"choices", "All ranks take the same arm."},
	ShardLoop:      {"loops", "The state stays cut from step to step."},
	ShardSource:    {"sources", "Every rank makes its own part."},
	ShardOutput:    {"output", "Gathered, and done by rank 0."},
	ShardWhole:     {"whole", "Operands are never cut."},
	ShardExpanded:  {"expanded", "As the operations that it is made of."},
	ShardMark:      {"marks", "Cuts its operand, or exchanges all parts with all ranks, or gathers them."},
}

// String is the word for the rule in tables.
func (r ShardingRule) String() string { return shardingTexts[r].name }

// Text says what is sent.
func (r ShardingRule) Text() string { return shardingTexts[r].text }
