// Declarations of std::string and its conversions: see refit_std.h, which includes this.
#pragma once

namespace std {

class string {
 public:
  static constexpr size_t npos = static_cast<size_t>(-1);
  string();
  string(const char* text);
  string(const char* text, size_t count);
  string(size_t count, char each);
  size_t size() const;
  size_t length() const;
  bool empty() const;
  const char* c_str() const;
  const char* data() const;
  char& operator[](size_t index);
  const char& operator[](size_t index) const;
  char& back();
  const char& back() const;
  char& front();
  const char& front() const;
  char* begin();
  char* end();
  const char* begin() const;
  const char* end() const;
  string& operator+=(const string& more);
  string& operator+=(char more);
  string& append(const string& more);
  void push_back(char more);
  void pop_back();
  void clear();
  void resize(size_t count);
  string& erase(size_t from = 0, size_t count = npos);
  string substr(size_t from = 0, size_t count = npos) const;
  string& replace(size_t from, size_t count, const string& by);
  size_t find(const string& what, size_t from = 0) const;
  size_t find(char what, size_t from = 0) const;
  size_t rfind(const string& what, size_t from = npos) const;
  size_t rfind(char what, size_t from = npos) const;
  size_t find_first_of(const string& what, size_t from = 0) const;
  size_t find_last_of(const string& what, size_t from = npos) const;
  size_t find_first_not_of(const string& what, size_t from = 0) const;
  size_t find_last_not_of(const string& what, size_t from = npos) const;
  int compare(const string& other) const;
  bool starts_with(const string& what) const;
  bool ends_with(const string& what) const;
};
string operator+(const string& a, const string& b);
string operator+(const string& a, char b);
string operator+(char a, const string& b);
bool operator<(const string& a, const string& b);
bool operator==(const string& a, const string& b);
bool operator!=(const string& a, const string& b);
string to_string(int value);
string to_string(long value);
string to_string(long long value);
string to_string(unsigned value);
string to_string(unsigned long value);
string to_string(float value);
string to_string(double value);
int stoi(const string& text, size_t* end = nullptr, int base = 10);
long stol(const string& text, size_t* end = nullptr, int base = 10);
float stof(const string& text, size_t* end = nullptr);
double stod(const string& text, size_t* end = nullptr);

}  // namespace std
