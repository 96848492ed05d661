package diag

// Nearest returns the candidate with the least edit distance to name, "" when none is close, as for
// a name of one letter. Ties go to the first in alphabetical order.
func Nearest(name string, candidates []string) string {
	if len(name) < 2 || len(name) > 64 {
		return ""
	}
	best, limit := "", max(1, min(3, len(name)/3))
	for _, k := range candidates {
		if k == name || len(k) > len(name)+limit || len(k) < len(name)-limit {
			continue
		}
		if d := editDistance(name, k); d < limit || d == limit && (best == "" || k < best) {
			best, limit = k, d
		}
	}
	return best
}

// editDistance counts the insertions, deletions, replacements and swaps of neighbours that turn a into b
// (optimal string alignment).
func editDistance(a, b string) int {
	var rows [3][72]int // on the stack: b is at most 3 longer than a name of 64
	before, prev, cur := rows[0][:len(b)+1], rows[1][:len(b)+1], rows[2][:len(b)+1]
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], before[j-2]+1)
			}
		}
		before, prev, cur = prev, cur, before
	}
	return prev[len(b)]
}
