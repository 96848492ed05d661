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
	// ShardBroadcast: the result is cut along the axis that the operand's becomes. One element is sent to all.
	ShardBroadcast
	// ShardReshape: the result is cut along the axis that begins where the operand's does.
	ShardReshape
	// ShardPermute: the result is cut along the axis that the operand's becomes.
	ShardPermute
	// ShardSlice: what lies with neighbours is sent.
	ShardSlice
	// ShardConcat: what lies with neighbours is sent.
	ShardConcat
	// ShardRead: what stands at a position of the axis is sent to all.
	ShardRead
	// ShardReduce: partial results of whole chunks are gathered, and every rank reduces them, or a part of the other
	// axes of them, in the prescribed order.
	ShardReduce
	// ShardAnyOrder: a reduction that has the same bits in any order. The results of all parts are gathered.
	ShardAnyOrder
	// ShardPositions: the position and the value of the extreme of each part are gathered.
	ShardPositions
	// ShardProduct: rows of the left, columns of the right and batches are cut; the other factor is gathered by pieces.
	ShardProduct
	// ShardBlocks is ShardProduct for an order that goes by blocks of the axis that is added along, which ranks share.
	ShardBlocks
	// ShardFold: the state goes from rank to rank, in order, and the last is sent to all.
	ShardFold
	// ShardScan: the state goes from rank to rank, in order.
	ShardScan
	// ShardRows: rows that lie whole on one rank are computed there. Rows that are cut are brought to whole ones, and
	// the results back, or gathered if there is one row. Stages of a transform which leave a rest that is not 1 have
	// rows along two axes, that of the rest and the one behind it.
	ShardRows
	// ShardChannels is rows as well, along one axis, where other operands have a row for each channel.
	ShardChannels
	// ShardSort: rows that lie whole on one rank are sorted there. Of rows that are cut each rank gets what belongs
	// into its block of the sorted row.
	ShardSort
	// ShardSortPositions is ShardSort for the positions of the elements.
	ShardSortPositions
	// ShardRequests: each rank asks the ranks that have them for the elements at its positions.
	ShardRequests
	// ShardAlong: positions along an axis that is whole are looked up on each rank, those along one that is cut are
	// asked for.
	ShardAlong
	// ShardScatter: what is added, and where, is sent to the ranks that have the elements, which add it in order. To
	// what every rank has, integers are added by all, and their sums gathered; floats go from rank to rank.
	ShardScatter
	// ShardUpdate: every rank replaces the elements of its part.
	ShardUpdate
	// ShardTabulate: the indices are cut as what is read near them; at each index a sum over all that is cut is made of
	// those of all ranks.
	ShardTabulate
	// ShardBranch: the arms of a choice that all ranks make alike.
	ShardBranch
	// ShardLoop: the state is cut as it is in the first step that cuts it.
	ShardLoop
	// ShardSource: made on every rank, of its part alone where only that is used.
	ShardSource
	// ShardLoaded: every rank reads its part alone of what is used for nothing but to be cut, and else all of it.
	ShardLoaded
	// ShardOutput: gathered, and printed or written by rank 0.
	ShardOutput
	// ShardWritten: every rank writes its own part.
	ShardWritten
	// ShardState: every rank keeps and takes its own part of the state of a loop.
	ShardState
	// ShardWhole: operands are never cut: scalars, strings and functions that recurse.
	ShardWhole
	// ShardExpanded: rewritten into other operations before.
	ShardExpanded
	// ShardMark: cuts its operand along its axis.
	ShardMark
	// ShardWithout: gathers its operand.
	ShardWithout
	// ShardAs: cuts its first operand as the second one is, of which it is the derivative.
	ShardAs
)

var shardingTexts = [...]struct{ name, text string }{
	ShardElements:  {"elements", "Nothing is sent: every rank computes its own elements."},
	ShardBroadcast: {"repeats", "Nothing is sent, but for an axis of one element, which all ranks get."},
	ShardReshape:   {"other axes", "Rows that lie with neighbours are sent, where blocks of other lengths come of it."},
	ShardPermute:   {"order of axes", "Nothing is sent."},
	ShardSlice:     {"slices", "Along the cut axis, rows that lie with neighbours are sent; along others nothing."},
	ShardRead:      {"positions of an axis", "What stands at a position of the cut axis is sent to all."},
	ShardConcat:    {"joins", "Along the cut axis, rows that lie with neighbours are sent; along others nothing."},
	ShardReduce: {"reductions", "The results of whole chunks are gathered, and reduced in the prescribed order on " +
		"every rank; where that is much, each rank gets those of a part of the other axes, and what it makes of them " +
		"is gathered; integers as in any order."},
	ShardAnyOrder:  {"in any order", "The results of all parts are gathered, and reduced on every rank."},
	ShardPositions: {"positions", "The extreme of each part and its position are gathered."},
	ShardProduct: {"products", "Rows of the left or columns of the right are cut. Where the other factor is, too, it " +
		"is gathered, in pieces while the product computes."},
	ShardBlocks: {"products by blocks", "As products. Of factors that are cut along the axis that is added along, " +
		"the results of blocks are gathered as those of chunks are."},
	ShardFold: {"in order, to one", "The state goes from rank to rank, and the last one to all."},
	ShardScan: {"in order", "The state goes from rank to rank."},
	ShardRows: {"rows", "Rows that lie on one rank are computed there. Rows that are cut are brought to ranks, and " +
		"the results back, by two exchanges of all ranks with all; a single row is gathered."},
	ShardChannels: {"rows of channels", "As rows, each with the tables of its channel."},
	ShardSort: {"sorts", "Of a row that is cut, each rank sorts its part, sends every other what belongs into the " +
		"block of that one, and sorts what it gets; many rows are brought to ranks. Of the first or last elements " +
		"alone, those of each part are gathered."},
	ShardSortPositions: {"positions that sort", "As sorts, with the position of each element."},
	ShardRequests: {"requests", "Each rank asks the others for the elements at its positions. Of a tensor that is " +
		"cut along an axis which they do not count, every rank has a part of each element, and gets all positions."},
	ShardAlong: {"along an axis", "Each rank asks the others for the elements at its positions along the cut " +
		"axis; those along an axis that is whole are there. Positions that are cut in another way than the tensor, " +
		"which has that axis whole, are sent by all ranks to all."},
	ShardScatter: {"scatters", "Positions and values are sent to the ranks that have the elements, in rounds " +
		"that are no longer than parts, whoever gets how many. To what every rank has, the state goes from rank to " +
		"rank, or sums of integers are gathered. What is added to a tensor that is cut along another axis is there, " +
		"or is sent by all ranks to all."},
	ShardUpdate: {"updates", "Every rank replaces the elements of its own part."},
	ShardTabulate: {"by index", "What is read at a known distance from the index, and lies with neighbours, is " +
		"sent. Sums of integers over all elements, as those of a histogram, are gathered."},
	ShardBranch: {"choices", "All ranks take the same arm."},
	ShardLoop:   {"loops", "The state stays cut from step to step."},
	ShardSource: {"sources", "Every rank makes its own part."},
	ShardLoaded: {"files that are read", "Every rank reads its own part of what is used for nothing but to be cut, " +
		"and else all of it."},
	ShardOutput: {"output", "Gathered, and printed or written by rank 0."},
	ShardWritten: {"files", "Every rank writes its own part. Where that would be many short runs of bytes, all ranks " +
		"send to all, so that each has whole rows to write."},
	ShardState:    {"states", "Every rank writes its own part, and reads it."},
	ShardWhole:    {"whole", "Operands are never cut."},
	ShardExpanded: {"expanded", "As the operations that it is made of."},
	ShardMark:     {"cut", "Nothing of what every rank has. Of what is cut along another axis all ranks send to all."},
	ShardWithout:  {"gathered", "All parts are sent to all ranks."},
	ShardAs:       {"cut as another", "As cut, or gathered."},
}

// Marks reports that an operation of the rule says how its operand is cut, whatever that is.
func (r ShardingRule) Marks() bool { return r == ShardMark || r == ShardWithout || r == ShardAs }

// String is the word for the rule in tables.
func (r ShardingRule) String() string { return shardingTexts[r].name }

// Text says what is sent.
func (r ShardingRule) Text() string { return shardingTexts[r].text }
