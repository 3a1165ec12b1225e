// A scan by simdjson On-Demand that takes the same fields from every event, and sums the kernels.
// g++ -O3 -DNDEBUG -march=native simdjson_scan.cpp -lsimdjson -o simdjson_scan
#include <cstdio>
#include <cstring>
#include <string>
#include <unordered_map>
#include <vector>
#include <simdjson.h>
using namespace simdjson;
int main(int, char** argv) {
  padded_string text;
  if (padded_string::load(argv[1]).get(text)) return 1;
  ondemand::parser parser;
  ondemand::document document;
  if (parser.iterate(text).get(document)) return 1;
  std::unordered_map<std::string, int> names;
  std::vector<long long> starts, durations, correlations, streams, codes;
  long long count = 0, total_ns = 0;
  auto ns = [](std::string_view number) {
    long long whole = 0, part = 0; int digits = -1;
    for (char c : number) {
      if (c == '.') digits = 0;
      else if (c < '0' || c > '9') break;
      else if (digits < 0) whole = whole * 10 + (c - '0');
      else if (digits < 3) { part = part * 10 + (c - '0'); digits++; }
    }
    for (; digits >= 0 && digits < 3; digits++) part *= 10;
    return whole * 1000 + part;
  };
  for (ondemand::object event : document["traceEvents"].get_array()) {
    std::string_view cat, name; long long ts = 0, dur = 0, corr = -1, stream = -1;
    for (auto field : event) {
      std::string_view key = field.unescaped_key();
      if (key == "cat") { if (field.value().get_string().get(cat)) {} }
      else if (key == "name") { name = field.value().raw_json_token(); }
      else if (key == "ts") ts = ns(field.value().raw_json_token());
      else if (key == "dur") dur = ns(field.value().raw_json_token());
      else if (key == "args") {
        ondemand::object args;
        if (field.value().get_object().get(args)) continue;
        for (auto argument : args) {
          std::string_view k = argument.unescaped_key();
          int64_t value;
          if (k == "correlation" && !argument.value().get_int64().get(value)) corr = value;
          else if (k == "stream" && !argument.value().get_int64().get(value)) stream = value;
        }
      }
    }
    bool device = cat == "kernel" || cat == "gpu_memcpy" || cat == "gpu_memset";
    if (device) { count++; total_ns += dur; }
    if (device || cat == "cuda_runtime" || cat == "cuda_driver" || cat == "user_annotation" || cat == "gpu_user_annotation") {
      starts.push_back(ts); durations.push_back(dur); correlations.push_back(corr); streams.push_back(stream);
      codes.push_back(names.emplace(std::string(name), (int)names.size()).first->second);
    }
  }
  std::printf("%lld %lld\n", count, total_ns);
}
