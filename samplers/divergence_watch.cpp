#include "samplers/divergence_watch.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "engine/error.hpp"

namespace whorl {

namespace {

// How much larger than usual an energy may get.
constexpr double largest_factor = 1e6;

// By the bits of the exponents, which compilers can look at several at a time.
template <class Word, class T>
bool finite_bits(std::span<const T> values, Word exponent) {
  Word bad = 0;
  for (T value : values) bad |= (std::bit_cast<Word>(value) & exponent) == exponent ? 1 : 0;
  return bad == 0;
}

}  // namespace

bool all_finite(const Tensor& tensor) {
  return tensor.dtype() == DType::f32
             ? finite_bits<std::uint32_t>(tensor.values<float>(), 0x7f800000u)
             : finite_bits<std::uint64_t>(tensor.values<double>(), 0x7ff0000000000000u);
}

Tensor row_of(const Tensor& tensor, std::int64_t row) {
  const Type type{tensor.dtype(), tensor.shape().without_front()};
  auto* bytes = static_cast<char*>(const_cast<void*>(tensor.raw()));
  return Tensor::borrow(type, bytes + row * type.bytes());
}

const Tensor& saved_tensor(const std::map<std::string, Tensor, std::less<>>& saved,
                           const std::string& name, const std::optional<Type>& type) {
  const auto found = saved.find(name);
  if (found == saved.end()) fail(ErrorKind::checkpoint, "checkpoint", "it has no '{}'", name);
  if (type ? found->second.type() != *type : found->second.dtype() != DType::f64)
    fail(ErrorKind::checkpoint, "checkpoint", "its '{}' is {}; expected {}", name,
         to_string(found->second.type()), type ? to_string(*type) : "numbers in f64");
  return found->second;
}

DivergenceWatch::DivergenceWatch(std::int64_t chains, std::int64_t size, bool drop)
    : size_(size), drop_(drop), alive_(static_cast<std::size_t>(chains), true) {}

void DivergenceWatch::learn_limit(const Tensor& energies) {
  std::vector<double> sizes;
  for (std::int64_t chain = 0; chain < std::ssize(alive_); ++chain)
    if (const double energy = std::abs(energies.at(chain)); std::isfinite(energy))
      sizes.push_back(energy);
  double expected = std::max(1.0, static_cast<double>(size_));
  if (!sizes.empty()) {
    const auto middle = sizes.begin() + std::ssize(sizes) / 2;
    std::nth_element(sizes.begin(), middle, sizes.end());
    expected = std::max(expected, *middle);
  }
  limit_ = largest_factor * expected;
}

bool DivergenceWatch::usual(double energy) const {
  return energy >= std::numeric_limits<double>::lowest() && energy <= limit_;
}

void DivergenceWatch::check(const Tensor& energies, std::int64_t step,
                            const std::function<std::string()>& place) {
  if (limit_ == 0) learn_limit(energies);
  bool all_fine = true;
  dispatch(energies.dtype(), [&](auto zero) {
    for (auto energy : energies.values<decltype(zero)>())
      all_fine &= usual(static_cast<double>(energy));
  });
  if (all_fine) return;
  for (std::int64_t i = 0; i < energies.elements(); ++i) {
    const double energy = energies.at(i);
    const std::int64_t chain = i % std::ssize(alive_), at = step + i / std::ssize(alive_);
    if (!alive(chain) || usual(energy)) continue;
    if (!std::isfinite(energy)) {
      give_up(chain, at, "the energy is not finite", place());
    } else {
      give_up(chain, at,
              fmt::format("the energy has grown to {:.3g}, more than {:.3g},", energy, limit_));
    }
  }
}

void DivergenceWatch::give_up(std::int64_t chain, std::int64_t step, std::string_view what,
                              std::string_view where) {
  const std::string text = fmt::format("{} at step {} in chain {}{}", what, step, chain, where);
  if (!drop_) fail(ErrorKind::numeric, "sample", "{}; a smaller step size may help", text);
  alive_[static_cast<std::size_t>(chain)] = false;
  divergences_.push_back({chain, step, text});
  if (first_alive() == std::ssize(alive_))
    fail(ErrorKind::numeric, "sample", "all {} chains have diverged, the last one so: {}",
         alive_.size(), text);
}

std::int64_t DivergenceWatch::first_alive() const {
  return std::find(alive_.begin(), alive_.end(), true) - alive_.begin();
}

void DivergenceWatch::save(std::map<std::string, Tensor>& saved) const {
  saved.emplace("chains/energy_limit", Tensor::of<double>({1}, {limit_}));
  // Chain and step of each divergence; what was wrong is told in the text of the run only.
  std::vector<double> lost;
  for (const Divergence& divergence : divergences_) {
    lost.push_back(static_cast<double>(divergence.chain));
    lost.push_back(static_cast<double>(divergence.step));
  }
  saved.emplace("chains/diverged", Tensor::from({DType::f64, {std::ssize(lost)}}, lost));
}

void DivergenceWatch::load(const std::map<std::string, Tensor, std::less<>>& saved,
                           std::int64_t steps) {
  const double limit = saved_tensor(saved, "chains/energy_limit", Type{DType::f64, {1}}).at(0);
  const Tensor& lost = saved_tensor(saved, "chains/diverged");
  std::vector<Divergence> divergences;
  std::vector<bool> alive(alive_.size(), true);
  for (std::int64_t i = 0; i + 1 < lost.elements(); i += 2) {
    const double chain = lost.at(i), step = lost.at(i + 1);
    if (!(chain >= 0 && chain < static_cast<double>(alive_.size())))
      fail(ErrorKind::checkpoint, "checkpoint", "it tells of chain {}; there are {}", chain,
           alive_.size());
    if (!(step >= 0 && step <= static_cast<double>(steps)))
      fail(ErrorKind::checkpoint, "checkpoint",
           "it tells of a divergence at step {}, after {} steps", step, steps);
    divergences.push_back({static_cast<std::int64_t>(chain), static_cast<std::int64_t>(step),
                           fmt::format("chain {} diverged at step {}", chain, step)});
    alive[static_cast<std::size_t>(chain)] = false;
  }
  limit_ = limit;
  divergences_ = std::move(divergences);
  alive_ = std::move(alive);
}

}  // namespace whorl
