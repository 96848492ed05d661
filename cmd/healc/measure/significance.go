package measure

import (
	"math"
	"slices"
)

// MannWhitney is the two-sided p-value of the Mann-Whitney U test of two sets of runs: how probable ranks as uneven as
// these are, or more uneven ones, when both come from one distribution. It assumes nothing about that
// distribution, which for times is far from normal. Without ties it is exact up to maxExact pairs of samples (Mann and
// Whitney: On a test of whether one of two random variables is stochastically larger than the other, 1947), else
// the normal approximation with the corrections for ties and continuity. Without samples on a side it is 1.
func MannWhitney(a, b []float64) float64 {
	n, m := len(a), len(b)
	if n == 0 || m == 0 {
		return 1
	}
	rankSum, ties, sizes := ranks(a, b)
	u := rankSum - float64(n)*float64(n+1)/2
	u = min(u, float64(n)*float64(m)-u)
	if !ties && n*m <= maxExact {
		return min(1, 2*exactTail(n, m, int(u)))
	}
	N := float64(n + m)
	mean := float64(n) * float64(m) / 2
	variance := float64(n) * float64(m) / 12 * (N + 1 - sizes/(N*(N-1)))
	if variance <= 0 {
		return 1 // all are the same
	}
	z := (math.Abs(u-mean) - 0.5) / math.Sqrt(variance)
	return min(1, math.Erfc(max(z, 0)/math.Sqrt2))
}

const maxExact = 400

// ranks is the sum of the ranks of a among both, equal ones sharing the mean of theirs; and the sum of t^3-t over
// the sizes t of the groups of equal ones.
func ranks(a, b []float64) (sum float64, ties bool, sizes float64) {
	type one struct {
		v    float64
		ours bool
	}
	all := make([]one, 0, len(a)+len(b))
	for _, v := range a {
		all = append(all, one{v, true})
	}
	for _, v := range b {
		all = append(all, one{v, false})
	}
	slices.SortFunc(all, func(x, y one) int {
		switch {
		case x.v < y.v:
			return -1
		case x.v > y.v:
			return 1
		}
		return 0
	})
	for i := 0; i < len(all); {
		j := i
		for j < len(all) && all[j].v == all[i].v {
			j++
		}
		t := float64(j - i)
		if t > 1 {
			ties = true
			sizes += t*t*t - t
		}
		rank := float64(i+1+j) / 2
		for ; i < j; i++ {
			if all[i].ours {
				sum += rank
			}
		}
	}
	return sum, ties, sizes
}

// exactTail is the probability that U is at most u: the number of ways to choose n ranks among n+m with such a
// sum, by the recurrence of Mann and Whitney over the largest rank.
func exactTail(n, m, u int) float64 {
	// ways[i][k] counts, for i of ours among the ranks so far, the arrangements in which U is k.
	ways := make([][]float64, n+1)
	for i := range ways {
		ways[i] = make([]float64, u+1)
	}
	// With j of theirs: f(i, j, k) = f(i-1, j, k-j) + f(i, j-1, k).
	for i := range ways {
		ways[i][0] = 1 // j = 0
	}
	for j := 1; j <= m; j++ {
		for i := 1; i <= n; i++ {
			for k := j; k <= u; k++ {
				ways[i][k] += ways[i-1][k-j]
			}
		}
	}
	sum := 0.0
	for _, w := range ways[n] {
		sum += w
	}
	all := 1.0
	for i := 1; i <= n; i++ {
		all = all * float64(m+i) / float64(i)
	}
	return sum / all
}
