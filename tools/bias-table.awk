# The tables of tools/bias-table: reads a line for each number of each run, and compares the mean of
# the runs with the exact moments, or with those of the reference.

function mean(key, what,   i, sum) {
  for (i = 1; i <= runs[key]; ++i) sum += value[key, i, what]
  return sum / runs[key]
}

# The square of the standard error of that mean.
function error2(key, what,   i, m, sum) {
  m = mean(key, what)
  for (i = 1; i <= runs[key]; ++i) sum += (value[key, i, what] - m) ^ 2
  return sum / (runs[key] - 1) / runs[key]
}

# Errors of all numbers: their rms, the worst, and the rms of their standard errors, in percent of
# the exact sd.
function judge(target, sampler, step_size, what,   i, key, at, exact, width, noise, off, sum, sum2) {
  worst = 0
  for (i = 1; i <= size[target]; ++i) {
    key = target " " sampler " " step_size " " name[target, i]
    noise = error2(key, what)
    if (reference[target] != "") {
      at = reference[target] " " name[target, i]
      exact = mean(at, what)
      width = mean(at, "sd")
      noise += error2(at, what)
    } else {
      exact = known[key, what]
      width = known[key, "sd"]
    }
    off = 100 * (mean(key, what) - exact) / width
    if (off * off > worst * worst) worst = off
    sum += off * off
    sum2 += 1e4 * noise / width ^ 2
  }
  rms = sqrt(sum / size[target])
  se = sqrt(sum2 / size[target])
}

function table(target, title,   s, pair, i, sd_rms, line) {
  print "**" title "**\n"
  print "| sampler | step size | sd: rms | worst | s.e. | quotient | mean: rms | worst | s.e. |"
  print "|---|---|---|---|---|---|---|---|---|"
  for (s = 1; s <= 4; ++s) {
    split(order[target, sampler_name[s]], pair, " ")
    for (i = 1; i <= 2; ++i) {
      if (diverged[target, sampler_name[s], pair[i]] > 0) {
        printf "| %s | %s | diverged | | | | | | |\n", sampler_name[s], pair[i]
        continue
      }
      judge(target, sampler_name[s], pair[i], "sd")
      sd_rms[i] = rms
      line = sprintf("| %s | %s | %.2f | %+.2f | %.2f | %s", sampler_name[s], pair[i], rms, worst, se,
                     i == 1 ? "" : sprintf("%.1f", sd_rms[1] / rms))
      judge(target, sampler_name[s], pair[i], "mean")
      printf "%s | %.2f | %+.2f | %.2f |\n", line, rms, worst, se
    }
  }
  print ""
}

{
  group = $1 SUBSEP $2
  # The larger step size first.
  if (!((group, $3) in met)) {
    met[group, $3] = 1
    order[group] = order[group] == "" ? $3 : order[group] + 0 > $3 ? order[group] " " $3 : $3 " " order[group]
  }
}
$5 == "-" { ++diverged[$1, $2, $3]; next }
{
  key = $1 " " $2 " " $3 " " $5
  ++runs[key]
  value[key, runs[key], "mean"] = $6
  value[key, runs[key], "sd"] = $7
  known[key, "mean"] = $8
  known[key, "sd"] = $9
  if (!(($1, $5) in seen)) {
    seen[$1, $5] = 1
    name[$1, ++size[$1]] = $5
  }
}

END {
  split("SGLD SGHMC SGNHT learned", sampler_name, " ")
  reference["rows"] = reference["rows-batches"] = "rows-reference HMC 0.08"
  table("gaussian", "10-D Gaussian, its own gradient")
  table("gaussian-noise", "10-D Gaussian, unit noise on every gradient")
  table("rows", "Logistic regression, all 300 rows at every step")
  table("rows-batches", "Logistic regression, minibatches of 75 rows")
  print "Errors of means and sds in percent of the exact sd: rms over parameters, the worst one, and"
  print "the Monte Carlo standard error of one. The quotient is that of the rms at both step sizes: 2"
  print "where the bias is of first order in the step size, 4 where it is of second order, and 1 where"
  print "it is below the standard error."
}
