# SQLite in memory: the word list, an index, a full-text index, joins, updates and deletions.
# Packages: sqlite3 wamerican
cat > words.sql <<'SQL'
create table word(text);
.import /usr/share/dict/words word
create index by_text on word(text);
create table pair(first, second, length integer);
insert into pair
  select a.text, b.text, length(a.text) from word a join word b on b.text = a.text || 's';
create index by_length on pair(length, second);
create virtual table search using fts5(first, second, prefix = '2 3');
insert into search select first, second from pair;
select count(*) from search where search match 'un* or re*';
update pair set second = upper(second) where length % 3 = 0;
delete from pair where length > 9;
select length, count(*), group_concat(second) from pair group by length;
with recursive step(n, text) as (
  select 1, 'a' union all
  select n + 1, (select min(word.text) from word where word.text > step.text || 'a')
  from step where n < 20000)
select count(distinct text) from step;
SQL
$RECORD sqlite3 :memory: < words.sql > answers
