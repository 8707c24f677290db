-- Character sets of columns, of names and of statements.

CREATE TABLE charsets (
  id INT PRIMARY KEY, big5 VARCHAR(20) CHARACTER SET big5, cp1251 VARCHAR(20) CHARACTER SET cp1251, cp850 VARCHAR(20) CHARACTER SET cp850,
  eucjpms VARCHAR(20) CHARACTER SET eucjpms, euckr VARCHAR(20) CHARACTER SET euckr, gb2312 VARCHAR(20) CHARACTER SET gb2312, gbk VARCHAR(20) CHARACTER SET gbk,
  greek VARCHAR(20) CHARACTER SET greek, hebrew VARCHAR(20) CHARACTER SET hebrew, koi8r VARCHAR(20) CHARACTER SET koi8r, latin1 VARCHAR(20) CHARACTER SET latin1,
  latin2 VARCHAR(20) CHARACTER SET latin2, sjis VARCHAR(20) CHARACTER SET sjis, cp932 VARCHAR(20) CHARACTER SET cp932, ucs2 VARCHAR(20) CHARACTER SET ucs2, ujis VARCHAR(20) CHARACTER SET ujis,
  utf16 VARCHAR(20) CHARACTER SET utf16, utf16le VARCHAR(20) CHARACTER SET utf16le, utf32 VARCHAR(20) CHARACTER SET utf32, utf8 VARCHAR(20) CHARACTER SET utf8,
  utf8mb4 VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, ascii VARCHAR(20) CHARACTER SET ascii, tis620 VARCHAR(20) CHARACTER SET tis620);
INSERT INTO charsets VALUES
  (1, '中文裏', 'Привет', 'é', '日本', '한국갂', '中文', '中文', 'Ελλάδα', 'שלום', 'Привет', 'café €', 'Łódź', 'ソ日本', '①日本', 'é€', '日本', 'é€😀', 'é€😀', 'é€😀', 'é€', 'é€😀', 'ascii', 'ไทย'),
  (2, '', '', '', '', '', '', '', '', '', '', '', '', '', '', '', '', '', '', '', '', '', '', '');
-- only: mysql
CREATE TABLE gb (id INT PRIMARY KEY, t VARCHAR(20) CHARACTER SET gb18030);
-- only: mysql
INSERT INTO gb VALUES (1, '中文😀é');
CREATE TABLE `größe ``quoted``` (`naïve 列` INT PRIMARY KEY, `a.b` INT);
INSERT INTO `größe ``quoted``` VALUES (1, 2);
CREATE DATABASE `golden-ü`;
CREATE TABLE `golden-ü`.t (id INT PRIMARY KEY);
INSERT INTO `golden-ü`.t VALUES (1);
USE `golden-ü`;
CREATE TABLE u (id INT PRIMARY KEY COMMENT 'it''s; a\tcomment');
USE golden;
