# The table of tools/gaussian-table: reads the experiment, what is best on each target by KL at 1,000
# steps and by final KL, and then all results.

function mean(x, n,   i, sum) {
  for (i = 1; i <= n; ++i) sum += x[i]
  return sum / n
}

function sd(x, n,   i, m, sum) {
  m = mean(x, n)
  for (i = 1; i <= n; ++i) sum += (x[i] - m) ^ 2
  return sqrt(sum / (n - 1))
}

# Three digits or so, and the spread with as many decimals.
function cell(x, n,   m, format) {
  m = mean(x, n)
  format = m < 0.1 ? "%.4f" : m < 1 ? "%.3f" : m < 10 ? "%.2f" : "%.1f"
  return n < 2 ? sprintf(format, m) : sprintf(format " ± " format, m, sd(x, n))
}

# The runs of one sampler on one target.
function row(target, name, sampler, step_size, friction,   i, f, runs, lost, x, y, z, used, mark) {
  for (i = 1; i <= results; ++i) {
    split(result[i], f, " ")
    if (f[1] != target || f[2] != sampler || f[3] != step_size || f[4] != friction) continue
    if (f[7] == "-") {
      ++lost
      continue
    }
    x[++runs] = f[6]
    y[runs] = f[7]
    z[runs] = f[8]
    used += f[10]
    if (f[9] == "true") mark = "*"
    if (sampler == "learned") keep("learned, seed " f[5], target, f[6], f[7], f[8])
  }
  printf "| %d: %s | %s | ", target, law[target], name
  if (runs == 0) {
    print "| diverged | diverged | |"
    return
  }
  if (sampler == "learned") printf "%.4f | ", used / runs
  else printf "%s, %s | ", step_size, friction
  printf "%s | %s | %s%s |%s\n", cell(x, runs), cell(y, runs), cell(z, runs), mark,
    (lost > 0 ? " " lost " diverged |" : "")
  if (lost == 0) keep(name, target, mean(x, runs), mean(y, runs), mean(z, runs))
}

function keep(name, target, x, y, z) {
  early[name, target] = x
  final[name, target] = y
  ess[name, target] = z
}

function summary(name,   target, n, x, y, z) {
  for (target = 1; target <= laws; ++target)
    if ((name, target) in final) {
      x[++n] = early[name, target]
      y[n] = final[name, target]
      z[n] = ess[name, target]
    }
  if (n > 0) printf "| %s | %d | %s | %s | %s |\n", name, n, cell(x, n), cell(y, n), cell(z, n)
}

# How many times lower the learned KL is, over the targets where both have one.
function advantage(kl, name,   target, ratio, n, sum, low, high) {
  for (target = 1; target <= laws; ++target)
    if ((name, target) in kl && ("learned", target) in kl) {
      ratio = kl[name, target] / kl["learned", target]
      sum += log(ratio)
      if (++n == 1 || ratio < low) low = ratio
      if (n == 1 || ratio > high) high = ratio
    }
  return n > 0 ? sprintf("%.2f (%.2f to %.2f)", exp(sum / n), low, high) : "-"
}

# A line of targets in the experiment: "0.6, seed 12" is the covariance L L' with L = 0.6 N(0,1).
/^targets { gaussian/ {
  for (i = 1; i <= NF; ++i) {
    if ($i == "correlated:") scale = $(i + 1)
    if ($i == "seed:") seed = $(i + 1)
    if ($i == "count:") for (j = 0; j < $(i + 1); ++j) law[++laws] = scale ", seed " seed + j
  }
}
FILENAME ~ /best-early$/ { best_early[$1] = $2 " " $3 }
FILENAME ~ /best-final$/ { best_final[$1] = $2 " " $3 }
FILENAME ~ /results$/ {
  result[++results] = $0
  seen[$1] = 1
  if ($5 > seeds) seeds = $5
}

END {
  paper = "SGHMC, paper"
  by_final = "SGHMC, best final KL"
  by_early = "SGHMC, best KL at 1,000"
  print "| target | sampler | step size, friction | KL at 1,000 | final KL | ESS |"
  print "|---|---|---|---|---|---|"
  for (target = 1; target <= laws; ++target) {
    if (!(target in seen)) continue
    row(target, "learned", "learned", "own", "own")
    row(target, paper, "sghmc", "0.025", "1")
    split(best_final[target], pair, " ")
    row(target, by_final, "sghmc", pair[1], pair[2])
    split(best_early[target], pair, " ")
    row(target, by_early, "sghmc", pair[1], pair[2])
  }
  print "\nMean ± sd of three runs; those of `learned` are of three trainings. *: some chains are still"
  print "correlated at lag 1,000, so the ESS is too large.\n"
  print "| sampler | targets | KL at 1,000 | final KL | ESS |"
  print "|---|---|---|---|---|"
  for (i = 1; i <= seeds; ++i) summary("learned, seed " i)
  summary("learned")
  summary(paper)
  summary(by_final)
  summary(by_early)
  print "\nMean ± sd over the targets where no run diverged.\n"
  print "| KL over that of `learned`, geometric mean (range) | at 1,000 | final |"
  print "|---|---|---|"
  printf "| %s | %s | %s |\n", paper, advantage(early, paper), advantage(final, paper)
  printf "| %s | %s | %s |\n", by_final, advantage(early, by_final), advantage(final, by_final)
  printf "| %s | %s | %s |\n", by_early, advantage(early, by_early), advantage(final, by_early)
}
