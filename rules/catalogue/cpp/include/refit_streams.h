// Declarations of the standard library's streams: see refit_std.h, which includes this.
#pragma once

namespace std {

class ostream {
 public:
  ostream& operator<<(const char*);
  ostream& operator<<(const string&);
  ostream& operator<<(long);
  ostream& operator<<(int);
  ostream& operator<<(double);
  ostream& operator<<(float);
  ostream& operator<<(char);
  ostream& operator<<(bool);
  ostream& operator<<(unsigned);
  ostream& operator<<(unsigned long);
  ostream& operator<<(long long);
  template <typename T>
  ostream& operator<<(T* pointer);
  ostream& flush();
  ostream& write(const char* text, long count);
  explicit operator bool() const;
  ostream& operator<<(ostream& (*)(ostream&));
};
extern ostream cout, cerr;
ostream& endl(ostream&);
ostream& flush(ostream&);
ostream& fixed(ostream&);
struct width_setting {};
width_setting setw(int width);
width_setting setprecision(int digits);
width_setting setfill(char fill);
ostream& operator<<(ostream& out, const width_setting& setting);
class istream {
 public:
  template <typename T>
  istream& operator>>(T& into);
  istream& read(char* into, long count);
  bool eof() const;
  bool good() const;
  explicit operator bool() const;
  bool operator!() const;
};
extern istream cin;
istream& getline(istream& from, string& into);
istream& getline(istream& from, string& into, char until);
class ostringstream : public ostream {
 public:
  ostringstream();
  explicit ostringstream(const string& text);
  string str() const;
  void str(const string& text);
};
class istringstream : public istream {
 public:
  explicit istringstream(const string& text);
  string str() const;
};
class stringstream : public ostringstream {
 public:
  using ostringstream::ostringstream;
  template <typename T>
  stringstream& operator>>(T& into);
};
class ifstream : public istream {
 public:
  ifstream();
  template <typename... Modes>
  explicit ifstream(const string& file, Modes... modes);
  bool is_open() const;
  void close();
};
class ofstream : public ostream {
 public:
  ofstream();
  template <typename... Modes>
  explicit ofstream(const string& file, Modes... modes);
  bool is_open() const;
  void close();
};

}  // namespace std
