// Declarations of the standard library, enough to resolve what libtorch code calls. refit reads a
// source with these where no compile_commands.json says where the real headers are.
#pragma once

typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long uint64_t;
typedef unsigned long size_t;
typedef long ptrdiff_t;

namespace std {

using ::int16_t;
using ::int32_t;
using ::int64_t;
using ::int8_t;
using ::ptrdiff_t;
using ::size_t;
using ::uint16_t;
using ::uint32_t;
using ::uint64_t;
using ::uint8_t;
using nullptr_t = decltype(nullptr);

template <typename T>
class initializer_list {
  const T* begin_;
  size_t size_;

 public:
  constexpr initializer_list() noexcept;
  constexpr size_t size() const noexcept;
  constexpr const T* begin() const noexcept;
  constexpr const T* end() const noexcept;
};

template <typename T>
struct remove_reference {
  using type = T;
};
template <typename T>
struct remove_reference<T&> {
  using type = T;
};
template <typename T>
struct remove_reference<T&&> {
  using type = T;
};
template <typename T>
constexpr typename remove_reference<T>::type&& move(T&& value) noexcept;
template <typename T>
constexpr T&& forward(typename remove_reference<T>::type& value) noexcept;

template <typename T>
struct allocator {};

template <typename T>
class vector {
 public:
  using value_type = T;
  vector();
  explicit vector(size_t count);
  vector(size_t count, const T& value);
  vector(initializer_list<T> items);
  vector(const vector&);
  vector(vector&&) noexcept;
  ~vector();
  vector& operator=(const vector&);
  vector& operator=(vector&&) noexcept;
  T& operator[](size_t index);
  const T& operator[](size_t index) const;
  T& at(size_t index);
  const T& at(size_t index) const;
  T& front();
  const T& front() const;
  T& back();
  const T& back() const;
  T* data();
  const T* data() const;
  T* begin();
  const T* begin() const;
  T* end();
  const T* end() const;
  size_t size() const;
  bool empty() const;
  void push_back(const T& value);
  template <typename... Arguments>
  T& emplace_back(Arguments&&... arguments);
  void pop_back();
  void clear();
  void reserve(size_t count);
  void resize(size_t count);
  void insert(const T* where, const T& value);
};

template <typename T, size_t N>
struct array {
  T items_[N];
  T& operator[](size_t index);
  const T& operator[](size_t index) const;
  T* begin();
  const T* begin() const;
  T* end();
  const T* end() const;
  constexpr size_t size() const;
};

template <typename A, typename B>
struct pair {
  A first;
  B second;
  pair();
  pair(const A& a, const B& b);
};

template <typename... Types>
class tuple {
 public:
  tuple();
  tuple(const Types&... items);
  template <typename A, typename B>
  tuple(const pair<A, B>& items);
  template <typename... Others>
  tuple& operator=(const tuple<Others...>& other);
  template <typename A, typename B>
  tuple& operator=(const pair<A, B>& other);
};

template <typename T>
struct tuple_size;
template <typename T>
struct tuple_size<const T> : tuple_size<T> {};
template <typename... Types>
struct tuple_size<tuple<Types...>> {
  static constexpr size_t value = sizeof...(Types);
};
template <typename A, typename B>
struct tuple_size<pair<A, B>> {
  static constexpr size_t value = 2;
};
template <size_t I, typename T>
struct tuple_element;
template <size_t I, typename T>
struct tuple_element<I, const T> {
  using type = const typename tuple_element<I, T>::type;
};
template <typename First, typename... Rest>
struct tuple_element<0, tuple<First, Rest...>> {
  using type = First;
};
template <size_t I, typename First, typename... Rest>
struct tuple_element<I, tuple<First, Rest...>> : tuple_element<I - 1, tuple<Rest...>> {};
template <typename A, typename B>
struct tuple_element<0, pair<A, B>> {
  using type = A;
};
template <typename A, typename B>
struct tuple_element<1, pair<A, B>> {
  using type = B;
};
template <size_t I, typename T>
typename tuple_element<I, T>::type& get(T& from);
template <size_t I, typename T>
const typename tuple_element<I, T>::type& get(const T& from);
template <size_t I, typename... Types>
typename tuple_element<I, tuple<Types...>>::type&& get(tuple<Types...>&& from);
template <size_t I, typename A, typename B>
typename tuple_element<I, pair<A, B>>::type&& get(pair<A, B>&& from);
template <typename... Types>
tuple<Types&...> tie(Types&... items);

template <typename T>
struct decay {
  using type = T;
};
template <typename T>
struct decay<T&> {
  using type = T;
};
template <typename T>
struct decay<const T&> {
  using type = T;
};
template <typename... Types>
tuple<typename decay<Types>::type...> make_tuple(Types&&... items);
template <typename A, typename B>
pair<typename decay<A>::type, typename decay<B>::type> make_pair(A&& a, B&& b);

struct nullopt_t {
  explicit constexpr nullopt_t(int) {}
};
inline constexpr nullopt_t nullopt{0};

template <typename T>
class optional {
 public:
  optional();
  optional(nullopt_t);
  optional(const T& value);
  template <typename U>
  optional(const optional<U>& other);
  template <typename U>
  optional(const U& value);
  optional& operator=(nullopt_t);
  bool has_value() const;
  explicit operator bool() const;
  T& value();
  const T& value() const;
  T value_or(T otherwise) const;
  T& operator*();
  const T& operator*() const;
  T* operator->();
  const T* operator->() const;
  void reset();
  void swap(optional& other);
  template <typename... Arguments>
  T& emplace(Arguments&&... arguments);
};
template <typename T>
bool operator==(const optional<T>& a, nullopt_t);
template <typename T>
bool operator!=(const optional<T>& a, nullopt_t);

template <typename T>
optional<typename decay<T>::type> make_optional(T&& value);
template <typename T, typename... Arguments>
optional<T> make_optional(Arguments&&... arguments);

}  // namespace std
#include "refit_string.h"
namespace std {

class string_view {
 public:
  constexpr string_view();
  constexpr string_view(const char* text);
  string_view(const string& text);
};

template <typename T>
class shared_ptr {
 public:
  shared_ptr();
  shared_ptr(nullptr_t);
  explicit shared_ptr(T* owned);
  template <typename U>
  shared_ptr(const shared_ptr<U>& other);
  T* get() const;
  T& operator*() const;
  T* operator->() const;
  explicit operator bool() const;
};
template <typename T, typename U>
bool operator==(const shared_ptr<T>& a, const shared_ptr<U>& b);
template <typename T>
bool operator==(const shared_ptr<T>& a, nullptr_t);
template <typename T>
bool operator!=(const shared_ptr<T>& a, nullptr_t);
template <typename T, typename U>
shared_ptr<T> dynamic_pointer_cast(const shared_ptr<U>& from);
template <typename T, typename U>
shared_ptr<T> static_pointer_cast(const shared_ptr<U>& from);
template <typename T>
class weak_ptr {
 public:
  weak_ptr();
  weak_ptr(const shared_ptr<T>& from);
  shared_ptr<T> lock() const;
};
template <typename T>
class enable_shared_from_this {
 public:
  shared_ptr<T> shared_from_this();
  weak_ptr<T> weak_from_this();
};
template <typename T>
class unique_ptr {
 public:
  unique_ptr();
  unique_ptr(nullptr_t);
  explicit unique_ptr(T* owned);
  unique_ptr(unique_ptr&& other);
  template <typename U>
  unique_ptr(unique_ptr<U>&& other);
  T* get() const;
  T& operator*() const;
  T* operator->() const;
  explicit operator bool() const;
};
template <typename T, typename... Arguments>
shared_ptr<T> make_shared(Arguments&&... arguments);
template <typename T, typename... Arguments>
unique_ptr<T> make_unique(Arguments&&... arguments);

template <typename Signature>
class function;
template <typename Result, typename... Arguments>
class function<Result(Arguments...)> {
 public:
  function();
  template <typename Callable>
  function(Callable callable);
  Result operator()(Arguments... arguments) const;
};

template <typename K, typename V>
class map {
 public:
  using value_type = pair<const K, V>;
  map();
  map(initializer_list<value_type> items);
  V& operator[](const K& key);
  V& at(const K& key);
  const V& at(const K& key) const;
  size_t count(const K& key) const;
  bool contains(const K& key) const;
  size_t size() const;
  bool empty() const;
  value_type* begin();
  value_type* end();
  const value_type* begin() const;
  const value_type* end() const;
  value_type* find(const K& key);
  const value_type* find(const K& key) const;
  template <typename... Arguments>
  void emplace(Arguments&&... arguments);
  void insert(const value_type& item);
  size_t erase(const K& key);
  void clear();
};
template <typename K, typename V>
class unordered_map : public map<K, V> {
 public:
  using map<K, V>::map;
};

class exception {
 public:
  virtual ~exception();
  virtual const char* what() const noexcept;
};
class runtime_error : public exception {
 public:
  explicit runtime_error(const string& what);
};
class logic_error : public exception {
 public:
  explicit logic_error(const string& what);
};
class invalid_argument : public logic_error {
 public:
  using logic_error::logic_error;
};
class out_of_range : public logic_error {
 public:
  using logic_error::logic_error;
};

template <typename T>
class set {
 public:
  set();
  set(initializer_list<T> items);
  const T* begin() const;
  const T* end() const;
  const T* find(const T& item) const;
  size_t count(const T& item) const;
  size_t size() const;
  bool contains(const T& item) const;
  bool empty() const;
  void insert(const T& item);
  template <typename... Arguments>
  void emplace(Arguments&&... arguments);
  size_t erase(const T& item);
  void clear();
};
template <typename T>
class unordered_set : public set<T> {
 public:
  using set<T>::set;
};
template <typename T>
struct hash {
  size_t operator()(const T& value) const noexcept;
};
template <typename T>
class atomic {
 public:
  atomic();
  atomic(T value);
  operator T() const noexcept;
  T load() const noexcept;
  void store(T value) noexcept;
  T operator=(T value) noexcept;
};
class mutex {
 public:
  void lock();
  void unlock();
};
template <typename M>
class lock_guard {
 public:
  explicit lock_guard(M& held);
};

template <typename T>
struct numeric_limits {
  static constexpr T max() noexcept;
  static constexpr T min() noexcept;
  static constexpr T lowest() noexcept;
  static constexpr T epsilon() noexcept;
  static constexpr T infinity() noexcept;
};

template <typename Iterator, typename T>
T accumulate(Iterator first, Iterator last, T init);
template <typename Iterator, typename T>
void iota(Iterator first, Iterator last, T value);
template <typename Iterator>
void sort(Iterator first, Iterator last);
template <typename Iterator, typename Compare>
void sort(Iterator first, Iterator last, Compare compare);
template <typename Iterator>
void reverse(Iterator first, Iterator last);
template <typename Iterator, typename T>
void fill(Iterator first, Iterator last, const T& value);
template <typename Iterator, typename Output>
Output copy(Iterator first, Iterator last, Output to);
template <typename Iterator, typename T>
Iterator find(Iterator first, Iterator last, const T& value);
template <typename Iterator, typename Test>
Iterator find_if(Iterator first, Iterator last, Test test);
template <typename C>
auto begin(C& of) -> decltype(of.begin());
template <typename C>
auto end(C& of) -> decltype(of.end());

double sqrt(double x);
float sqrt(float x);
template <typename T>  // of whole numbers
double sqrt(T x);
double rsqrt(double x);
double pow(double x, double y);
float pow(float x, float y);
template <typename T, typename U>
double pow(T x, U y);
double exp(double x);
float exp(float x);
double log(double x);
double log2(double x);
double sin(double x);
double cos(double x);
float log(float x);
float sin(float x);
float cos(float x);
double tan(double x);
double tanh(double x);
double round(double x);
double floor(double x);
double ceil(double x);
double abs(double x);
long abs(long x);
template <typename T>
const T& max(const T& a, const T& b);
template <typename T>
const T& min(const T& a, const T& b);

}  // namespace std

double sqrt(double x);
float sqrtf(float x);
#define INFINITY __builtin_inff()
#define M_PI 3.14159265358979323846

#include "refit_streams.h"
